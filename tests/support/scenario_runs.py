"""Scenarios as they are typed, on the real clock, one repetition of each cell."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from flightpath.project import PROJECT
from results.store.store import Store
from tests.support.vocabulary import unknown_metrics

REAL_ONCE = ("--repeat", "1", "--clock", "real")


def measured_cells(scenario: str, folder: Path, *words: str) -> list[dict[str, Any]]:
    """The cells of a run, as `--json` prints them; their metrics are in the vocabulary. The store is in the folder."""
    command = [sys.executable, "-m", f"scenarios.{scenario}", "--json", "--results", str(folder), *REAL_ONCE, *words]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=180)
    assert done.returncode in (0, 4), done.stderr  # 4: this machine was busy with something else
    assert not any(unknown_metrics(cell.measurement.metrics) for cell in Store.open(folder).cells("latest"))
    return json.loads(done.stdout)["cells"]
