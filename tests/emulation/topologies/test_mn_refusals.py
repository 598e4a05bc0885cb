"""Errors of `mn` with Flightpath's file where Mininet would wait forever, ignore an option or do harm.

The command runs in this process as `topologies/mn.py` starts it; test_mn has it as a program.
"""

import shutil
import sys

import pytest
from mininet.log import lg

from flightpath.project import PROJECT
from tests.support.mininet_command import machine, mn
from topologies.mininet import network
from topologies.mininet.command import start_mn

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")


@pytest.fixture
def refused(monkeypatch, capfd):
    """Returns a function that starts mn with arguments and returns its exit code and output."""

    def start(arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(lg.handlers[0], "stream", sys.stderr)
        monkeypatch.setattr(sys, "argv", ["mn.py", *arguments.split()])
        before = machine()
        code = start_mn(PROJECT / "topologies/mn.py")
        assert machine() == before
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out + err

    return start


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        ("--topo single,2 --link relay,delay=15mx", 2, "delay: cannot read '15mx'"),
        ("--topo single,2 --link relay,delay=15", 2, "delay: cannot read '15'"),
        ("--topo single,2 --link relay,bandwith=10Mbit", 2, "link: 'bandwith' is unknown"),
        ("--topo multipath_pair,paths=9", 2, "paths: 9"),
        ("--topo multipath_pair,pahts=3", 1, "MultipathPair.build() got an unexpected keyword argument 'pahts'"),
        ("--link rellay", 1, "error: rellay is unknown"),
        ("--topo nowhere", 1, "Invalid topo name nowhere"),
        ("--controller nobody", 1, "error: nobody is unknown"),
        ("--innamespace", 2, "--innamespace: switches are one Open vSwitch"),
    ],
)
def test_a_mistake_ends_in_one_sentence_before_there_is_a_network(refused, arguments, code, expected):
    ended, output = refused(arguments)

    assert ended == code
    assert output.startswith(f"error: {expected}")


@pytest.mark.parametrize("value", ["none.py", "topologies/mn.py,none.py", "topologies", "none,py"])
def test_a_custom_file_that_is_missing_is_refused(refused, value):
    missing = value.removeprefix("topologies/mn.py,").split(",")[0]

    assert refused(f"--custom {value}") == (
        2,
        f"error: --custom: there is no file {missing!r}\n  paths are relative to {PROJECT}\n",
    )


def test_the_command_mn_ends_with_the_code_of_a_refusal():
    for arguments, expected in (
        ("--custom none.py", "--custom: there is no"),
        ("--pre missing.txt", "source: cannot read"),
    ):
        done = mn(*arguments.split())

        assert done.returncode == 2
        assert f"error: {expected} " in done.stdout
        assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        ("--controller none --test pingall", 2, "error: s1: there is no controller to wait for"),
        ("--controller remote --test pingall", 1, "error: after 1 s there are switches without a connection"),
        ("--nat --test pingall", 2, "error: nat0: there is no way from the network to the internet, and so no NAT"),
        ("--controller osken,missing.py --test pingall", 2, "error: there is no application 'missing.py'"),
        ("--link tc,loss=101 --test pingall", 2, "error: loss: '101%' is more than 100%"),
    ],
)
def test_what_cannot_be_ends_it_before_a_test(refused, monkeypatch, arguments, code, expected):
    monkeypatch.setattr(network, "_CONNECT_TIMEOUT_S", 1)

    ended, output = refused(arguments)

    assert (ended, expected in output) == (code, True), output
    assert "*** Creating network" in output
    assert "Results" not in output
