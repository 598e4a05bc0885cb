"""Scenarios in virtual time: the same figures whatever else the machine does, and nothing left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flightpath.clock import Clock
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from results.metrics import is_of_machine
from results.records import CellResult, RunStatus, Verdict
from results.store.store import Store
from tests.support.busy_machine import busy_machine
from tests.support.uml import require_uml_kernel, uml_kernels

pytestmark = [pytest.mark.starts_kernels, pytest.mark.timeout(600)]

CONFIGURATIONS = ("baseline4", "mptcp4", "mptcp6", "tun4_path4")
SMALL = ("--only", "paths=1", "--link", "20Mbit,1ms", "--size", "1", "--seconds", "1")
"""For one cell of `multipath_10gbe` with each configuration."""


@pytest.fixture(autouse=True, scope="module")
def _uml_kernel() -> None:
    require_uml_kernel()


def command(scenario: str, results: Path, *words: str) -> list[str]:
    own = ("--clock", "virtual", "--repeat", "1", "--results", str(results))
    return [sys.executable, "-m", f"scenarios.{scenario}", *own, *words]


def measured(scenario: str, results: Path, *words: str) -> list[CellResult]:
    done = subprocess.run(command(scenario, results, *words), cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Store.open(results).cells("latest")


def test_the_main_job_gives_the_same_to_the_last_bit_alone_and_beside_busy_loops(tmp_path):
    small = ("--threads", "20", "--loads", "400", "--only", "protocol=mptcp")
    quiet = measured("mptcp_load", tmp_path / "quiet", *small, "--jobs", "1")
    with busy_machine():
        busy = measured("mptcp_load", tmp_path / "busy", *small, "--jobs", "2")
    assert [cell.cell for cell in quiet] == [cell.cell for cell in busy]
    assert len(quiet) == 1
    for one, other in zip(quiet, busy, strict=True):
        assert one.certificate.verdict is other.certificate.verdict is Verdict.FAITHFUL
        assert (one.clock, one.certificate.found["machine"]) == (Clock.VIRTUAL, "uml")
        assert not any(is_of_machine(name) for name in (*one.measurement.metrics, *one.measurement.series))
        assert one.measurement == other.measurement
        assert one.certificate == other.certificate


@pytest.mark.nightly
def test_repetitions_and_seeds_differ(tmp_path):
    one_cell = ("--only", "configuration=mptcp4", *SMALL)
    first, second = measured("multipath_10gbe", tmp_path / "one", *one_cell, "--repeat", "2")
    (other,) = measured("multipath_10gbe", tmp_path / "two", *one_cell, "--seed", "2")
    assert first.measurement != second.measurement
    assert first.measurement != other.measurement


def test_a_scenario_of_one_s_own_file_runs_there_too(tmp_path):
    file = tmp_path / "tcp_loss.py"
    blocks = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```python\n")[1:]
    file.write_text(blocks[0].split("```")[0], encoding="utf-8")
    words = ("--clock", "virtual", "--seconds", "1", "--only", "loss=0.1%", "--results", str(tmp_path / "runs"))
    done = subprocess.run([sys.executable, str(file), *words], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {cell.clock for cell in Store.open(tmp_path / "runs").cells("latest")} == {Clock.VIRTUAL}
    assert list(tmp_path.glob("runs/*/goodput.png"))


def test_an_interrupted_run_keeps_its_cells_and_goes_on(tmp_path):
    words = [word for name in CONFIGURATIONS for word in ("--only", f"configuration={name}")]
    process = subprocess.Popen(
        command("multipath_10gbe", tmp_path, *words, *SMALL, "--jobs", "1"),
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr.readline().startswith("multipath_10gbe: 4 cells, ")
        wait_until(lambda: process.stderr.readline().startswith("[1/4]"), "the first cell", 300)
        wait_until(lambda: uml_kernels(tmp_path), "the second cell to begin", 30)
        os.kill(process.pid, signal.SIGINT)
        _, output = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, output
    assert "continue with --resume" in output
    wait_until(lambda: not uml_kernels(tmp_path), "the end of the virtual-time kernel", 5)
    (record,) = Store.open(tmp_path).runs()
    assert (record.status, record.clock) == (RunStatus.INTERRUPTED, Clock.VIRTUAL)
    done = subprocess.run(
        [sys.executable, "-m", "scenarios.multipath_10gbe", "--resume", "latest", "--results", str(tmp_path)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    cells = Store.open(tmp_path).cells(record.run_id)
    assert len(cells) == 4 and {cell.clock for cell in cells} == {Clock.VIRTUAL}
