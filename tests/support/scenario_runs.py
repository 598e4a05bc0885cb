"""Scenarios as they are typed, one repetition of each cell."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flightpath.clock import Clock
from flightpath.project import PROJECT
from results.store.store import Store
from scenarios.framework.placement import has_lab
from tests.support.vocabulary import unknown_metrics

CLOCK = Clock.VIRTUAL if has_lab() else Clock.REAL
"""For tests that judge rates and cost little in virtual time."""

MARKS = [pytest.mark.timeout(600)] if has_lab() else [pytest.mark.alone]
"""Of such tests: in virtual time they may run beside others."""


def measured_cells(scenario: str, folder: Path, *words: str, clock: Clock = Clock.REAL) -> list[dict[str, Any]]:
    """The cells of a run, as `--json` prints them; their metrics are in the vocabulary. The store is in the folder."""
    options = ["--json", "--results", str(folder), "--repeat", "1", "--clock", clock]
    command = [sys.executable, "-m", f"scenarios.{scenario}", *options, *words]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=600)
    # 4: this machine was busy with something else, which virtual time does not notice.
    assert done.returncode in ((0, 4) if clock is Clock.REAL else (0,)), done.stderr
    assert not any(unknown_metrics(cell.measurement.metrics) for cell in Store.open(folder).cells("latest"))
    return json.loads(done.stdout)["cells"]
