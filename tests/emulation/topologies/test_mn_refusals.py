"""Errors of `mn`, which runs in this process, where Mininet would wait forever, ignore an option or do harm."""

import shutil
import sys

import pytest
from mininet.log import lg

from flightpath.project import PROJECT
from tests.support.mininet_command import machine
from topologies.mininet import network
from topologies.mininet.runner import main

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")


@pytest.fixture
def refused(monkeypatch, capfd):
    """Returns a function that starts mn with arguments and returns its exit code and output."""

    def start(arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(lg.handlers[0], "stream", sys.stderr)
        before = machine()
        code = main(arguments.split())
        assert machine() == before
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out + err

    return start


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        ("--topo single,2 --link relay,bandwith=10Mbit", 2, "link: 'bandwith' is unknown"),
        ("--topo fabric,cors=3", 2, "--topo: fabric has no parameter 'cors'\n  did you mean 'cores'?"),
        ("--topo linear,kk=3", 2, "--topo: linear has no parameter 'kk'\n  did you mean 'k'?"),
        ("--topo single,many", 2, "--topo: cannot make 'single,many': "),
        ("--link tc,delai=5ms", 2, "--link: tc has no parameter 'delai'\n  did you mean 'delay'?"),
        ("--link tc,loss=101", 2, "loss: '101%' is more than 100%"),
        ("--link veth,bw=5", 2, "--link: veth emulates nothing"),
        ("--switch auto,datpath=user", 2, "--switch: auto has no parameter 'datpath'\n  did you mean 'datapath'?"),
        ("--controller sterring", 2, "--controller: 'sterring' is unknown\n  did you mean 'steering'?"),
        ("--test pingal", 2, "--test: 'pingal' is unknown\n  did you mean 'pingall'?"),
        ("--tpoo single", 2, "no such option: --tpoo\n  did you mean '--topo'?"),
        ("single,3", 2, "'single,3' belongs to no option\n  for example: --topo single,3"),
        ("--congestion-control cubik", 3, "this kernel has no congestion control 'cubik'"),
        ("--innamespace", 2, "--innamespace: switches are one Open vSwitch"),
        ("--custom topologies/mn.py,no", 2, f"--custom: there is no file 'no'\n  paths are relative to {PROJECT}\n"),
        ("--custom topologies", 2, "--custom: there is no file 'topologies'"),
    ],
)
def test_a_mistake_ends_in_one_sentence_before_there_is_a_network(refused, arguments, code, expected):
    ended, output = refused(arguments)

    assert ended == code
    assert f"error: {expected}" in output and "*** Adding" not in output


def test_the_help_names_our_choices(capfd, monkeypatch):
    # mn takes the place of the main module, and of its words, in this process: a later test that starts processes with
    # `multiprocessing` would find no module `mn` to import there.
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    with pytest.raises(SystemExit, match="0"):
        main(["--topo", "single,3", "--help"])

    output = capfd.readouterr().out
    words = ("dtn_pair", "torus,X,Y", "relay, netem", "burst_loss=1%:25%", "steering,policy=NAME", "ovsbr")
    assert [word for word in words if word not in output] == []
    assert "--innamespace" not in output


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        ("--controller none --test pingall", 2, "error: s1: there is no controller to wait for"),
        ("--controller remote --test pingall", 1, "error: after 1 s there are switches without a connection"),
        ("--controller osken,missing.py --test pingall", 2, "error: there is no application 'missing.py'"),
    ],
)
def test_what_cannot_be_ends_it_before_a_test(refused, monkeypatch, arguments, code, expected):
    monkeypatch.setattr(network, "_CONNECT_TIMEOUT_S", 1)

    ended, output = refused(arguments)

    assert (ended, expected in output) == (code, True), output
    assert "*** Creating network" in output
    assert "Results" not in output
