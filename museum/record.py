"""The museum's record: what the entries measured."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import flightpath
from experiments.claims import check_claims
from experiments.files.scenario import FileScenario
from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from flightpath.identity import git
from flightpath.project import PROJECT
from museum.catalogue import ENTRIES, entry, file_of
from results.records import Cell, CellResult, Certificate, Claim, Measurement, Metric, Verdict
from results.store.store import Store
from results.summary.verdicts import overall
from scenarios.reproduction.measuring_code import is_same_program

RECORD = Path(__file__).parent / "record.json"

_STARTED = {
    "controller.py": ("museum/entries/own_python.py", "controllers"),
    "quic.py": ("museum/entries/own_python.py", "services/quic"),
}
"""Files and folders of the programs that a script of the museum starts."""


def read_record() -> dict[str, Any]:
    """Returns what was measured of each entry, by its name."""
    entries: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return entries


def write_record(entries: Mapping[str, Any]) -> None:
    """Writes what was measured of each entry, in alphabetical order."""
    RECORD.write_text(json.dumps(dict(sorted(entries.items())), indent=1) + "\n", encoding="utf-8")


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Measures an entry as a user would, and returns what the record keeps of it: claims are judged by the figures.

    Raises:
        MeasurementFailed: cells could not be measured, or are not faithful.
    """
    flightpath.run(file_of(name), results=folder)
    cells = Store.open(folder).cells("latest")
    if (verdict := overall(cells)) is not Verdict.FAITHFUL:
        raise MeasurementFailed(f"{name}: its cells are {verdict}")
    found, _ = entry(name)
    cells.sort(key=lambda each: _place(each.cell, found.parameters))
    return {
        "seed": found.seed,
        "units": {metric: value.unit for metric, value in cells[0].measurement.metrics.items()},
        "cells": [
            {
                "parameters": dict(cell.cell.parameters),
                "repetition": cell.cell.repetition,
                "metrics": {metric: value.value for metric, value in cell.measurement.metrics.items()},
            }
            for cell in cells
        ],
    }


def _place(cell: Cell, parameters: Mapping[str, Sequence[Any]]) -> list[int]:
    """Returns the place of a cell in the order of the file."""
    return [*(values.index(cell.parameters[name]) for name, values in parameters.items()), cell.repetition]


def commit_of(name: str) -> str:
    """Returns the commit that measures an entry, for the record.

    Raises:
        UsageError: what measures it is not committed.
    """
    commit = git(PROJECT, "rev-parse", "--short=12", "HEAD").strip()
    if not is_measured_alike(name, commit):
        raise UsageError(f"{name} would be measured by a changed checkout", "commit the changes first")
    return commit


def is_measured_alike(name: str, commit: str) -> bool:
    """Tells whether nothing that measures an entry has changed since a commit."""
    file = file_of(name)
    try:
        git(PROJECT, "diff", "--quiet", commit, "--", str(file), *map(str, programs_of(file)))
    except FlightpathError:  # there are differences, or the commit is not here
        return False
    return is_same_program({"commit": commit}, None)


def programs_of(file: Path) -> list[Path]:
    """Returns the scripts of the museum that an entry starts, and the files and folders of what these start."""
    text = file.read_text(encoding="utf-8")
    scripts = [script for script in sorted(ENTRIES.glob("*.py")) if f"/{script.name} " in text]
    return [*scripts, *(PROJECT / path for script in scripts for path in _STARTED.get(script.name, ()))]


def claims(name: str, measured: Mapping[str, Any]) -> list[Claim]:
    """Returns the claims of an entry, judged by what the record has of it."""
    scenario = FileScenario.from_file(file_of(name))
    certificate = Certificate(Verdict.FAITHFUL, found={"clock": str(scenario.clock)})
    cells = []
    for each in measured["cells"]:
        metrics = {metric: Metric(value, measured["units"][metric]) for metric, value in each["metrics"].items()}
        cells.append(CellResult(Cell(each["parameters"], each["repetition"]), Measurement(metrics), certificate))
    return check_claims(scenario.claims, cells, "quick")
