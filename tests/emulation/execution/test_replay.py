"""Replays of stored cells: looked at at any moment, and the same to the last bit afterwards."""

import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from flightpath.project import PROJECT
from results.store.store import Store
from tests.support.busy_machine import busy_processor
from tests.support.scenario_runs import ONE_CELL
from tests.support.uml import require_uml_kernel

pytestmark = [pytest.mark.starts_kernels, pytest.mark.timeout(1800)]

SAME = "the figures are the same as the stored ones, to the last bit"
UNEQUAL = "--only paths=equal --only transport=mptcp --seconds 1"
SCENARIOS = ("congestion_race", "dtn_buffers", "dtn_streams", "subflow_steering", "mptcp_load")


@pytest.fixture(autouse=True, scope="module")
def _uml_kernel() -> None:
    require_uml_kernel()


def measure(scenario: str, words: str, results: Path) -> None:
    own = ["--clock", "virtual", "--repeat", "1", "--results", str(results)]
    subprocess.run(
        [sys.executable, "-m", "flightpath.cli", "run", scenario, *own, *shlex.split(words)],
        cwd=PROJECT,
        capture_output=True,
        check=True,
    )


def replay(results: Path, at: str, *commands: str) -> subprocess.CompletedProcess[str]:
    own = ["--results", str(results), "--at", at, *(word for command in commands for word in ("--run", command))]
    return subprocess.run(
        [sys.executable, "-m", "flightpath.cli", "replay", "latest", *own], cwd=PROJECT, capture_output=True, text=True
    )


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
    words = ("0.4s", *commands, "step 1ms", "connections", "until queue h1-eth0 > 1%", "links", "continue")
    with busy_processor():
        done = replay(stored, *words)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, SAME), done
    assert done.stdout.count("cubic") >= 2 and "qdisc netem" in done.stdout, done.stdout
    moments = [float(each) for each in re.findall(r"stands still at ([\d.]+) s", done.stderr)]
    assert moments[:2] == [0.4, 0.401] and 0.401 < moments[2] < 0.41


def test_a_cell_that_is_changed_is_another_run(stored):
    done = replay(stored, "0.4s", "set h1-eth0 bandwidth=1Mbit", "links", "continue")
    assert done.returncode == 0 and "it is another run" in done.stdout, done
    assert re.search("h1->h2 +h1-eth0 +1 Mbit/s", done.stdout) and "is stored" in done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize(
    "scenario", ["congestion_race", "dtn_buffers", "dtn_streams", "subflow_steering", "mptcp_load"]
)
def test_at_twenty_moments_of_five_scenarios(scenario, tmp_path):
    words = {"mptcp_load": "--threads 10 --loads 200 --only protocol=mptcp", **ONE_CELL}[scenario]
    measure(scenario, words, tmp_path)
    (cell,) = Store.open(tmp_path).cells("latest")
    commands = looks(tmp_path)
    numbers = random.Random(39)
    for _ in range(5):
        moments = sorted(numbers.uniform(0, cell.certificate.found["load_s"]) for _ in range(4))
        later = [word for moment in moments[1:] for word in (f"until {moment:.9f}s", *commands)]
        done = replay(tmp_path, f"{moments[0]:.9f}s", *commands, *later, "continue")
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, SAME), (moments, done)
