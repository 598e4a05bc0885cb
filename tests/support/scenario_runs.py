"""Scenarios as they are typed, one repetition of each cell, on the kernel of the test."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from flightpath.clock import Clock, clock_here
from flightpath.project import PROJECT
from results.store.store import Store
from tests.support.vocabulary import unknown_metrics


def measured_cells(scenario: str, folder: Path, *words: str) -> list[dict[str, Any]]:
    """The cells of a run, as `--json` prints them; their metrics are in the vocabulary. The store is in the folder."""
    options = ["--json", "--results", str(folder), "--repeat", "1", "--machine", "here"]
    command = [sys.executable, "-m", f"scenarios.{scenario}", *options, *words]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=600)
    # 4: this machine was busy with something else, which virtual time does not notice.
    assert done.returncode in ((0,) if clock_here() is Clock.VIRTUAL else (0, 4)), done.stderr
    assert not any(unknown_metrics(cell.measurement.metrics) for cell in Store.open(folder).cells("latest"))
    return json.loads(done.stdout)["cells"]
