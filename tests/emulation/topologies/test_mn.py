"""Mininet's own `mn` with Flightpath's file: its usual commands, the verbs for links, and nothing left behind."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flightpath.errors import FlightpathError
from flightpath.processes import family
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.mininet_command import CUSTOM, in_namespaces, machine, mn
from topologies.mininet.network import InteractiveNetwork

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["mn", *CUSTOM, *arguments],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


def test_the_command_flightpath_starts_it_from_any_folder(tmp_path):
    argv = [Path(sys.executable).with_name("flightpath"), "mn", "--topo", "dtn_pair", "--test", "pingall"]

    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)

    assert done.returncode == 0, done.stderr
    assert "Results: 0% dropped" in done.stdout + done.stderr


def wait_for_line(process: subprocess.Popen[str], words: str) -> None:
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"mn ended before it said {words!r}")


@pytest.mark.parametrize(
    "arguments",
    [
        "--topo dtn_pair,cross_traffic=1 --link relay,bw=10000,delay=15ms --switch auto --controller steering",
        "--topo multipath_pair,paths=4 --link relay,bw=50",
        "--topo fabric,edges=2,hosts=1,cores=2 --controller flightpath --switch auto,datapath=user",
        "--topo web_service,mptcp=on --link relay,bw=50,delay=1ms,loss=0",
        "--topo single,3 --link relay,bw=100",
        "--topo linear,3 --mac",
        "--topo tree,2 --link relay,delay=1ms",
    ],
)
def test_every_host_reaches_every_other(arguments):
    before = machine()

    done = mn(*arguments.split(), script="pingall\n")

    assert "Results: 0% dropped" in done.stdout, done.stdout
    assert done.returncode == 0
    assert machine() == before


def test_a_host_runs_a_command_and_not_the_rest_of_the_script(start):
    process = start("--topo", "single,2")
    wait_for_line(process, "*** Starting CLI")
    process.stdin.write("h1 echo begun; sleep 1; echo $((6 * 7))\n")
    process.stdin.flush()
    wait_for_line(process, "begun")
    process.stdin.write("h2 echo $((7 * 7))\n")
    process.stdin.flush()
    wait_for_line(process, "42")
    wait_for_line(process, "49")


@pytest.mark.alone
def test_iperf_measures_the_rate_of_the_link():
    done = mn("--topo", "single,2", "--link", "relay,bw=20", script="iperf\n")

    rates = re.search(r"\*\*\* Results: \['([\d.]+) Mbits/sec', '", done.stdout)
    assert rates, done.stdout
    assert 12 < float(rates[1]) < 20


def reported(text: str) -> list[str]:
    """The lines of `link_stats` that say what a direction is."""
    return [line.strip() for line in text.splitlines() if re.match(r"  \S+->\S+: ", line)]


def test_verbs_change_links_and_link_stats_shows_it():
    script = """
link_set h1 s1 bandwidth=10Mbit delay=20ms
link_set s1->h2 bw=5 loss=1%
link_set h2-eth0 queue=50p
link_stats h1 s1
link_stats h2-s1
at 0s link_set h1 s1 delay=30ms
h1 sleep 0.5
link_stats h1->s1
help black_hole
"""
    done = mn("--topo", "single,2", "--link", "relay,bw=100", script=script)

    assert done.returncode == 0
    first, second, third = (reported(done.stdout)[i : i + 2] for i in (0, 2, 4))
    assert [line.partition(":")[0] for line in first] == ["h1->s1", "s1->h1"]
    assert all("rate=10Mbit" in line and "delay=20ms" in line for line in first)
    towards, back = second
    assert towards.startswith("h2->s1: rate=100Mbit")
    assert "rate=5Mbit" in back
    assert "loss=0.01" in back
    assert all("queue_packets=50" in line for line in second)
    assert all("rate=10Mbit" in line and "delay=30ms" in line for line in third)
    assert "Usage: black_hole" in done.stdout


def test_a_cut_cable_and_a_black_hole_stop_packets_until_they_are_mended():
    script = """
link_down h1 s1
h1 cat /sys/class/net/h1-eth0/carrier
pingall 1
link_up h1 s1
pingall 10
link h2 s1 down
h2 cat /sys/class/net/h2-eth0/carrier
pingall 1
link h2 s1 up
pingall 10
black_hole h1->s1 on
h1 cat /sys/class/net/h1-eth0/carrier
pingall 1
link_stats h1 s1
black_hole h1->s1 off
pingall 10
"""
    done = mn("--topo", "single,2", script=script)

    dropped = re.findall(r"Results: (\d+)% dropped", done.stdout)
    assert dropped == ["100", "0", "100", "0", "100", "0"], done.stdout
    assert re.findall(r"^(?:mininet> )*([01])$", done.stdout, re.MULTILINE) == ["0", "0", "1"]
    assert re.search(r"dropped .*blackhole=[1-9]", done.stdout)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("link_set h1 s2 bw=5", "did you mean 'h1-s1'?"),
        ("link_set h1 s1 bw=fast", "bandwidth: cannot read 'fast'; accepted forms"),
        ("link_set h1 s1 dealy=5ms", "did you mean 'delay'?"),
        ("link_set h1 s1", "`help link_set` shows"),
        ("link_set h1", "name both ends"),
        ("link_set h1 s1 mtu=900", "mtu"),
        ("link_down h1->s1", "one direction"),
        ("black_hole h1 s1 perhaps", "`help black_hole` shows"),
        ("at 5s", "for example"),
        ("at -5s link_down h1 s1", "'-5s'"),
        ("at 5s link_cut h1 s1", "known: link_set"),
        ("link_stats h7 s1", "there is no link"),
    ],
)
def test_what_a_verb_cannot_do_is_said_in_one_line(cli, line, said):
    (told,) = cli(line)

    assert told.startswith("*** ")
    assert said in told


@pytest.fixture(scope="module")
def cli() -> Iterator[Callable[[str], list[str]]]:
    """One mn for all of them; each call gives what one line made it say."""
    process = subprocess.Popen(
        ["mn", *CUSTOM, "--topo", "single,2", "-v", "output"],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )

    def ask(line: str) -> list[str]:
        process.stdin.write(f"{line}\npx print('end of answer', flush=True)\n")
        process.stdin.flush()
        said = []
        for answer in process.stdout:
            text = answer.replace("mininet> ", "").rstrip()
            if "end of answer" in text:
                return [*said, *filter(None, [text.removesuffix("end of answer")])]
            said.append(text)
        raise AssertionError("mn ended")

    yield ask
    process.kill()
    process.stdin.close()
    process.stdout.close()
    process.wait()


def test_a_change_does_not_slip_under_one_that_is_due_later(cli):
    assert cli("at 60s link_set h2 s1 delay=5ms") == []
    (told,) = cli("link_set h2 s1 bw=5")
    assert "due" in told
    assert cli("link_down h2 s1") == cli("link_up h2 s1") == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--topo single,2 --link relay,delay=15mx", 2, "delay: cannot read '15mx'"),
        ("--topo single,2 --link relay,delay=15", 2, "delay: cannot read '15'"),
        ("--topo single,2 --link relay,bandwith=10Mbit", 2, "did you mean 'bandwidth'?"),
        ("--topo multipath_pair,paths=9", 2, "paths: 9"),
        ("--topo multipath_pair,pahts=3", 1, "pahts"),
        ("--link rellay", 1, "rellay"),
        ("--topo nowhere", 1, "nowhere"),
        ("--controller nobody", 1, "nobody"),
    ],
)
def test_a_mistake_ends_in_one_sentence_and_leaves_nothing(arguments, code, said):
    before = machine()

    done = mn(*arguments.split(), script="pingall\n")

    assert done.returncode == code
    (told,) = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert said in done.stdout[done.stdout.index(told) :]
    assert "Traceback" not in done.stdout
    assert "*** Creating network" not in done.stdout
    assert machine() == before


def test_kill_9_leaves_nothing(start):
    before = machine()
    process = start("--topo", "linear,2", "--link", "relay,bw=10")
    wait_for_line(process, "*** Starting CLI")
    everything = family(process.pid)
    assert len(everything) > 10  # hosts, switches, links, Open vSwitch, the controller

    process.send_signal(signal.SIGKILL)

    wait_until(lambda: not any(one.is_alive() for one in everything), "the end of every process", 30)
    assert machine() == before


def test_a_signal_to_mn_ends_a_command_and_not_the_command_line(start):
    """Another process sends it to the outermost process alone, which hands it on (keys: test_mn_at_a_terminal)."""
    process = start("--topo", "single,2")
    wait_for_line(process, "*** Starting CLI")
    process.stdin.write("h1 echo begun; sleep 100\npingall\n")
    process.stdin.flush()
    wait_for_line(process, "begun")

    process.send_signal(signal.SIGINT)

    wait_for_line(process, "Results: 0% dropped")

    def has_ended() -> bool:
        # More than once: Python does not notice a signal that arrives just before it begins to wait for input.
        process.send_signal(signal.SIGTERM)
        return process.poll() is not None

    wait_until(has_ended, "the end of mn", 20, poll_s=1)
    assert process.returncode == 130


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a /tmp of its own")
@pytest.mark.skipif(PROJECT.is_relative_to("/tmp"), reason="the project lies in the /tmp that would be another one")
def test_its_clean_up_is_never_done():
    """In namespaces with an own /tmp: Mininet's clean-up, were it done, would delete /tmp/*.log of the machine."""
    script = 'mount -t tmpfs tmpfs /tmp && touch /tmp/kept.log && mn "$@" -c; echo "code $?"; ls /tmp'
    done = in_namespaces(script, *CUSTOM)

    assert "code 0" in done.stdout, done.stdout
    assert "Nothing to clean up" in done.stdout
    assert "kept.log" in done.stdout


def test_the_network_is_not_made_outside_a_sandbox():
    with pytest.raises(FlightpathError, match="only in a sandbox"):
        InteractiveNetwork()
