"""The museum's record: what the entries measured."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.claims import check_claims
from experiments.files.scenario import FileScenario
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.identity import git
from flightpath.launcher import python_module
from flightpath.project import PROJECT
from museum.catalogue import entry, file_of
from results.records import Cell, CellResult, Certificate, Claim, Measurement, Metric, Verdict
from scenarios.reproduction.progress import is_same_program

RECORD = Path(__file__).parent / "record.json"


def read_record() -> dict[str, Any]:
    """Returns what was measured of each entry, by its name."""
    entries: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return entries


def write_record(entries: Mapping[str, Any]) -> None:
    """Writes what was measured of each entry, in alphabetical order."""
    RECORD.write_text(json.dumps(dict(sorted(entries.items())), indent=1) + "\n", encoding="utf-8")


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Measures an entry with the command that a user would give, and returns what the record keeps of it.

    Args:
        name: of the entry.
        folder: of the results.

    Raises:
        MeasurementFailed: the command failed; it has said why on stderr.
    """
    words = python_module("scenarios", str(file_of(name)), "--json", "--results", str(folder))
    ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    run = json.loads(ran.stdout) if ran.returncode == 0 else {}
    if run.get("verdict") != Verdict.FAITHFUL:
        raise MeasurementFailed(f"{name}: its run ended with exit code {ran.returncode}, {run.get('verdict')}")
    return recorded(name, run)


def commit_of(name: str) -> str:
    """Returns the commit that measures an entry, for the record.

    Raises:
        UsageError: what measures it is not committed.
    """
    commit = git(PROJECT, "rev-parse", "--short=12", "HEAD").strip()
    if not is_same_program({"commit": commit}) or git(PROJECT, "status", "--porcelain", str(file_of(name))):
        raise UsageError(f"{name} would be measured by a changed checkout", "commit the changes first")
    return commit


def recorded(name: str, run: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the record keeps of a run that was printed as JSON: the figures; claims are judged by them."""
    found, _ = entry(name)
    return {
        "seed": found.seed,
        "units": {metric: value["unit"] for metric, value in run["cells"][0]["metrics"].items()},
        "cells": [
            {
                "parameters": cell["parameters"],
                "repetition": cell["repetition"],
                "metrics": {metric: value["value"] for metric, value in cell["metrics"].items()},
            }
            for cell in run["cells"]
        ],
    }


def claims(name: str, measured: Mapping[str, Any]) -> list[Claim]:
    """Returns the claims of an entry, judged by what the record has of it."""
    scenario = FileScenario.from_file(file_of(name))
    certificate = Certificate(Verdict.FAITHFUL, found={"clock": str(scenario.clock)})
    cells = []
    for each in measured["cells"]:
        metrics = {metric: Metric(value, measured["units"][metric]) for metric, value in each["metrics"].items()}
        cells.append(CellResult(Cell(each["parameters"], each["repetition"]), Measurement(metrics), certificate))
    return check_claims(scenario.claims, cells, "quick")
