"""What measures a cell in a guest, and what it answers when processes of the guest are killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from execution.guest_executors import cell_request
from execution.guest_side import CellRequest, measure_cell
from experiments.parameters import PlanRequest
from flightpath.calls import ANSWER, PROGRESS, REQUEST, SHARED, Returns, name_of, write
from flightpath.errors import MeasurementFailed
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from scenarios.dtn_window import DtnWindow


def request(folder: Path) -> CellRequest:
    """For a cell that takes longer than the test."""
    scenario = DtnWindow()
    return cell_request(scenario, scenario.plan(PlanRequest()), 0, folder)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (signal.SIGSEGV, "the run was ended by SIGSEGV\n  if nobody did that, a program crashed: run it again"),
        (signal.SIGKILL, "the run was ended by SIGKILL\n  if nobody did that, this machine had no memory left"),
    ],
)
def test_a_run_that_a_signal_ended_is_told_in_a_sentence(tmp_path, number, message):
    write(request(tmp_path), tmp_path, REQUEST)
    guest = subprocess.Popen(
        [sys.executable, "-m", "flightpath.calls", name_of(measure_cell)],
        cwd=PROJECT,
        env={**os.environ, SHARED: str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until((tmp_path / PROGRESS).exists, "the cell to begin", 60)
        keeper = only_child(guest.pid)
        os.kill(only_child(only_child(keeper)), number)
        printed = guest.communicate(timeout=60)[1]
    finally:
        guest.kill()
        guest.wait()
    assert (guest.returncode, printed) == (0, "")
    with pytest.raises(MeasurementFailed) as error:
        Returns.of(measure_cell).value((tmp_path / ANSWER).read_bytes())
    assert str(error.value).startswith(message)


def only_child(pid: int) -> int:
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)
