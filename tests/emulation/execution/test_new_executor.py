"""The recipe of CONTRIBUTING.md for a new executor: a class, and an entry in `EXECUTORS`."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from execution import placement
from execution.guest_executors import GuestExecutor
from execution.guests.guest import Guest
from execution.guests.process import ProcessGuest
from execution.placement import ExecutorKind
from flightpath.clock import Clock
from scenarios.command import runner
from scenarios.dtn_window import DtnWindow


class FarExecutor(GuestExecutor):
    """Another machine, as over SSH: a program here starts a program there, which shares a folder with it."""

    name = "far"

    def guest(self, argv: Sequence[str], writable: Path | None, slot: int, seed: int) -> Guest:
        return ProcessGuest(["env", "FAR=1", *argv])


def test_a_new_executor_measures_resumes_and_is_named_in_the_record(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(
        placement.EXECUTORS, "far", ExecutorKind(lambda plan, request: FarExecutor(), (Clock.REAL,), "far away")
    )
    words = ["--only", "window_kib=32", "--only", "tool=iperf3", "--seconds", "1", "--repeat", "1"]
    words += ["--results", str(tmp_path), "--json", "--machine", "far"]
    with pytest.raises(SystemExit):
        runner.main(DtnWindow(), words)
    printed = json.loads(capsys.readouterr().out)
    cells = printed["cells"]
    assert cells and all(cell["metrics"]["goodput"]["value"] > 1e6 for cell in cells)
    with pytest.raises(SystemExit):
        runner.main(DtnWindow(), ["--resume", "latest", "--results", str(tmp_path), "--json"])
    assert json.loads(capsys.readouterr().out)["run"] == printed["run"]
