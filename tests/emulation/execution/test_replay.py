"""Replays of stored cells: looked at at any moment, and the same to the last bit afterwards."""

import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from flightpath.project import PROJECT
from results.store.store import Store
from tests.support.busy_machine import busy_processor
from tests.support.finished import finished
from tests.support.scenario_runs import ONE_CELL
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.starts_kernels, pytest.mark.timeout(1800)]

REPLAY = [sys.executable, "-m", "flightpath.cli", "replay", "latest"]
SAME = "the figures are the same as the stored ones, to the last bit"
UNEQUAL = (
    "--only paths=equal --only transport=mptcp --seconds 1"
    " --event '0.5s h1-eth0 bandwidth=40Mbit' --event '0.6s h1-eth1 down' --event '0.7s h1-eth1 up'"
    " --event '0.75s h1-eth0 loss=1%'"
)


def measure(scenario: str, words: str, results: Path) -> None:
    own = ["--clock", "virtual", "--repeat", "1", "--results", str(results)]
    finished([sys.executable, "-m", "flightpath.cli", "run", scenario, *own, *shlex.split(words)], check=True)


def replay(results: Path, at: str, *commands: str, within: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    own = ["--results", str(results), "--at", at, *(word for command in commands for word in ("--run", command))]
    return finished([*within, *REPLAY, *own])


def stops(text: str) -> list[float]:
    """The moments at which the clock stood still, in seconds."""
    return [float(each) for each in re.findall(r"stands still at ([\d.]+) s", text)]


def looks(results: Path) -> list[str]:
    """Five commands that look, with the names of the run's hosts."""
    hosts = replay(results, "0s", "hosts").stdout.split()
    host = next(name for name in hosts if name != "sh" and not name.startswith("s"))
    return [f"{host} ss -tinm", "connections", "links", "tc -s qdisc", f"{host} python3 -c 'import os; os.urandom(9)'"]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a run with one small cell."""
    folder = tmp_path_factory.mktemp("stored")
    measure("multipath_unequal", UNEQUAL, folder)
    return folder


def test_a_cell_that_was_looked_at_beside_a_busy_loop_goes_on_to_the_same_figures(stored):
    commands = looks(stored)
    later = ("step 1ms", "connections", "until queue h1-eth0 > 1%", "links", "until link down", "continue")
    with busy_processor():
        done = replay(stored, "0.4s", *commands, *later)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, SAME), done
    assert done.stdout.count("cubic") >= 2 and "qdisc netem" in done.stdout, done.stdout
    moments = stops(done.stderr)
    assert moments[:2] == [0.4, 0.401] and 0.401 < moments[2] < 0.41 and 0 <= moments[3] - 0.6 < 1e-3


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_cell_is_the_same_whatever_else_the_checkout_has(stored, tmp_path):
    """Python lists these folders, so other names change what all its programs have in their memory, and where."""
    mounts = []
    for floor in ("probes", "results"):
        copy = shutil.copytree(PROJECT / floor, tmp_path / floor, ignore=shutil.ignore_patterns("runs", "reproduction"))
        (copy / "another_folder").mkdir()
        mounts.append(shlex.join(["mount", "--bind", str(copy), str(PROJECT / floor)]))
    script = " && ".join([*mounts, 'exec "$@"'])
    done = replay(stored, "0.4s", "continue", within=("unshare", "--mount", "sh", "-c", script, "sh"))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, SAME), done


def test_a_cell_that_is_changed_is_another_run_and_keeps_what_events_have_changed(stored):
    rates = "sh for name in $(ls /sys/class/net); do tc class show dev $name; done"
    done = replay(stored, "0.55s", "set h1-eth0 loss=1%", "links", rates, "continue")
    assert done.returncode == 0 and "it is another run" in done.stdout, done
    assert re.search("h1->h2 +h1-eth0 +40 Mbit/s", done.stdout) and "is stored" in done.stdout
    assert done.stdout.count("rate 40Mbit") == 2


def test_at_a_terminal_ctrl_c_stops_the_clock_again(stored):
    with Terminal([*REPLAY, "--results", str(stored), "--at", "0.4s"]) as terminal:
        shown = terminal.read_until("0.400000000 s> ")
        for line, expected in (
            ("help", "quit  "),
            ("links", "h2->h1"),
            ("h1", "for example: h1 ss -tin"),
            ("stap 1ms", "did you mean 'step'?"),
            ("step 1ms", "0.401000000 s> "),
        ):
            terminal.type(f"{line}\n")
            shown += terminal.read_until(expected)
        moment = 0.401
        while moment == 0.401:
            terminal.type("continue\n")
            time.sleep(0.3)
            terminal.type("\x03")
            (moment,) = stops(terminal.read_until(" s> "))
        terminal.type("links\n")
        table = terminal.read_until(" s> ")  # a Ctrl-D before the prompt is lost
        terminal.type("\x04")
        assert terminal.exit_code() == 0
    assert 0.401 < moment < 4.3 and "h2->h1" in table
    assert all(len(line) <= 80 for line in shown.splitlines() if "known: " not in line), shown


@pytest.mark.nightly
def test_events_are_found_when_they_happen(stored):
    steps = "until 0.2s", *["step packet"] * 3
    done = replay(stored, "subflow joined", "h1 ss -tnH", *steps, "until link down", "links", "until link up", "links")
    assert done.returncode == 0, done
    _, joined, _, *packets, down, up = stops(done.stderr)
    assert 0.2 < packets[0] < packets[1] < packets[2] < 0.201, "at 50 Mb/s"
    assert 0 < joined < 0.1 and 0 <= down - 0.6 < 1e-3 and 0 <= up - 0.7 < 1e-3
    assert "10.0.2.1" in done.stdout
    assert [*re.findall("h1->h2 +h1-eth1 +(.*?)  ", done.stdout)] == ["down", "50 Mbit/s"]


@pytest.mark.nightly
def test_what_the_load_does_not_do_or_the_cell_does_not_reach_is_said(stored):
    done = replay(stored, "0.75s", "until link down")
    assert done.returncode == 2 and "no 'link down' before the end of the load" in done.stderr, done
    done = replay(stored, "99s", "links")
    assert done.returncode == 2 and "ended before 'links' could run" in done.stderr, done


@pytest.mark.nightly
@pytest.mark.parametrize(
    "scenario", ["congestion_race", "dtn_buffers", "dtn_streams", "subflow_steering", "mptcp_load"]
)
def test_at_twenty_moments_of_five_scenarios(scenario, tmp_path):
    words = {"mptcp_load": "--threads 10 --loads 200 --only protocol=mptcp", **ONE_CELL}[scenario]
    measure(scenario, words, tmp_path)
    (cell,) = Store.open(tmp_path).cells("latest")
    commands = looks(tmp_path)
    moments = sorted(random.Random(39).uniform(0, cell.certificate.found["load_s"]) for _ in range(20))
    later = [word for moment in moments[1:] for word in (f"until {moment:.9f}s", *commands)]
    done = replay(tmp_path, f"{moments[0]:.9f}s", *commands, *later, "continue")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, SAME), (moments, done)
