"""Where Mininet's `mn` waits without end, is silently wrong or ends by mistake, and with Flightpath's file does not."""

import os
import re
import shutil
import subprocess

import pytest

from flightpath.project import PROJECT
from tests.support.mininet_command import CUSTOM, in_namespaces, machine, mn

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--controller none --test pingall", 2, "error: s1: there is no controller to wait for"),
        ("--controller none --wait", 2, "error: s1: there is no controller to wait for"),
        ("--controller remote --test pingall", 1, "error: after 30 s there are switches without a connection"),
    ],
)
def test_it_does_not_wait_without_end_for_a_controller(arguments, code, said):
    before = machine()

    done = mn(*arguments.split(), timeout_s=80)

    assert done.returncode == code
    assert said in done.stdout
    assert "Traceback" not in done.stdout
    assert machine() == before


@pytest.mark.parametrize(
    "arguments",
    ["--switch ovs", "--switch ovs,datapath=user", "--topo multipath_pair --controller none"],
)
def test_its_own_tests_run(arguments):
    done = mn(*arguments.split(), "--test", "pingall")

    assert done.returncode == 0, done.stdout
    assert "Results: 0% dropped" in done.stdout


def test_a_script_that_is_missing_does_not_end_the_session(tmp_path):
    script = tmp_path / "script.txt"
    script.write_text("h1 echo $((6 * 7))\nsource missing.txt\nh1 echo $((7 * 7))\n")

    done = mn("--topo", "single,2", script=f"source missing.txt\nsource {script}\nh1 echo $((8 * 8))\n")

    assert done.returncode == 0, done.stdout
    assert done.stdout.count("*** source: cannot read 'missing.txt': No such file or directory") == 2
    assert re.findall(r"^(?:mininet> )*(\d\d)$", done.stdout, re.MULTILINE) == ["42", "49", "64"]


def test_a_missing_script_in_an_option_is_an_error_in_one_sentence():
    done = mn("--topo", "single,2", "--pre", "missing.txt")

    assert done.returncode == 2
    assert "error: source: cannot read 'missing.txt'" in done.stdout


@pytest.mark.parametrize("link", ["relay,bw=10", "veth"])
def test_links_shows_which_are_down(link):
    done = mn("--topo", "single,2", "--link", link, script="links\nlink h1 s1 down\nlinks\nlink h1 s1 up\nlinks\n")

    of_h1 = re.findall(r"h1-eth0<->s1-eth1 \((.*)\)", done.stdout)
    of_h2 = re.findall(r"h2-eth0<->s1-eth2 \((.*)\)", done.stdout)
    assert (of_h1, of_h2) == (["OK OK", "DOWN DOWN", "OK OK"], ["OK OK"] * 3)


TC_LINKS = """
from functools import partial
from mininet.link import TCLink
from mininet.topo import Topo

class Lossy(Topo):
    def build(self, **of_link):
        h1, h2 = self.addHost("h1"), self.addHost("h2")
        self.addLink(h1, h2, cls=TCLink, **of_link)

class LossyInPart(Topo):
    def build(self):
        h1, h2 = self.addHost("h1"), self.addHost("h2")
        self.addLink(h1, h2, cls=partial(TCLink, loss=100))

topos = {"lossy": Lossy, "partly": LossyInPart}
"""


@pytest.mark.parametrize("arguments", ["--topo lossy,loss=100", "--topo partly", "--link tc,loss=100"])
def test_a_link_of_mininets_own_is_one_of_ours(tmp_path, arguments):
    topologies = tmp_path / "topologies.py"
    topologies.write_text(TC_LINKS)

    done = mn("--custom", str(topologies), *arguments.split(), script="pingall 1\nlink_stats\n")

    assert done.returncode == 0, done.stdout
    assert "Results: 100% dropped" in done.stdout
    assert "loss=1" in done.stdout


def test_what_mininets_own_link_would_ignore_is_refused():
    done = mn("--link", "tc,loss=101", script="pingall 1\n")

    assert done.returncode == 2
    assert "error: loss: '101%' is more than 100%" in done.stdout
    assert "Results" not in done.stdout


@pytest.mark.parametrize("value", ["none.py", "topologies/mn.py,none.py", "topologies", "none,py"])
@pytest.mark.parametrize("program", [["topologies/mn.py"], ["mn", *CUSTOM]])
def test_a_custom_file_that_is_missing_is_refused_in_one_sentence(program, value):
    before = machine()

    done = subprocess.run([*program, "--custom", value], cwd=PROJECT, capture_output=True, text=True, timeout=60)

    missing = value.removeprefix("topologies/mn.py,").split(",")[0]
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: --custom: there is no file {missing!r}\n  paths are relative to {PROJECT}\n"
    assert machine() == before


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--nat", 2, "error: nat0: there is no way from the network to the internet, and so no NAT"),
        ("--innamespace", 2, "error: --innamespace: switches are one Open vSwitch"),
        ("--controller osken,missing.py", 2, "error: there is no application 'missing.py'"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do_instead(arguments, code, said):
    done = mn(*arguments.split(), "--test", "pingall")

    assert done.returncode == code
    assert said in done.stdout
    assert "Results" not in done.stdout


def test_windows_need_a_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)

    done = mn("-x", script="xterm h1\ngterm h1\nx h1 xclock\n")

    assert done.returncode == 0, done.stdout
    assert "*** No terminals: there is no display" in done.stdout
    assert (
        len(re.findall(r"mininet> \*\*\* there is no display for windows .*; run the command here", done.stdout)) == 3
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a /tmp of its own")
@pytest.mark.parametrize("arguments", ["--topo nowhere", "--custom none.py", "--topo single,2 --link relay,delay=1"])
def test_from_another_folder_an_error_does_not_run_mininets_clean_up(arguments):
    """The clean-up, were it done, would delete /tmp/*.log of the machine: here it would be that of a namespace."""
    done = with_own_tmp(f"$PROJECT/{CUSTOM[1]}", *arguments.split())

    assert "error: " in done.stdout
    assert "code 0" not in done.stdout
    assert "kept.log" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a /tmp of its own")
def test_as_a_program_it_is_the_same_command_in_each_folder():
    done = with_own_tmp(f"$PROJECT/{CUSTOM[1]}", "--topo", "dtn_pair", "--link", "relay,bw=10", "--test", "pingall")

    assert "Results: 0% dropped" in done.stdout
    assert "code 0" in done.stdout, done.stdout


def with_own_tmp(*command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in / and in namespaces with an own /tmp and the project elsewhere; says its code, and /tmp."""
    script = """
    PROJECT=/mnt/$(basename "$1"); mount -t tmpfs tmpfs /mnt; mkdir "$PROJECT"; mount --rbind "$1" "$PROJECT"; shift
    mount -t tmpfs tmpfs /tmp; touch /tmp/kept.log; cd /
    program=$(eval echo "$1"); shift
    "$program" "$@"; echo "code $?"; ls /tmp
    """
    return in_namespaces(script, str(PROJECT), *command)
