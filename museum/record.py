"""The museum's record: what the entries measured, and the verdicts on their claims."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flightpath.errors import MeasurementFailed, UsageError
from flightpath.identity import git
from flightpath.launcher import python_module
from flightpath.project import PROJECT
from museum.catalogue import entry, file_of
from scenarios.reproduction.progress import is_same_program

RECORD = Path(__file__).parent / "record.json"


def read_record() -> dict[str, Any]:
    """Returns what was measured of each entry, by its name."""
    entries: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return entries


def write_record(entries: Mapping[str, Any]) -> None:
    """Writes what was measured of each entry."""
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
    if ran.returncode:
        raise MeasurementFailed(f"{name}: its run ended with exit code {ran.returncode}")
    return recorded(name, json.loads(ran.stdout))


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
    """Returns what the record keeps of a run that was printed as JSON."""
    found, _ = entry(name)
    return {
        "seed": found.seed,
        "cells": [
            {
                "parameters": cell["parameters"],
                "repetition": cell["repetition"],
                "metrics": {metric: value["value"] for metric, value in cell["metrics"].items()},
            }
            for cell in run["cells"]
        ],
        "units": {metric: value["unit"] for metric, value in run["cells"][0]["metrics"].items()},
        "claims": [
            {"claim": each["claim"], "expected": each["paper"], "measured": each["measured"], "verdict": each["verdict"]}
            for each in run["claims"]
        ],
    }
