"""Repeating a measurement: with its settings, but never with the files and folders that its record names.

A record may have been imported, or come from a shared store. The files that it names would be read or written with the
rights of the user who repeats it.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from flightpath.errors import UsageError
from probes.preflight.history.past import describe, host_name
from probes.preflight.history.recording import SCENARIO
from probes.preflight.spec import NULL_SINK, Direction, TransferSpec, read_json
from results.store.query import RunQuery
from results.store.store import Store

FILES_AND_FOLDERS = {"remote_file": "REMOTE_FILE", "sink": "--to", "remote_folder": "--remote-folder"}
"""The settings that name files or folders, and how the user names them."""

_NOTHING = (None, "", NULL_SINK)


@dataclass(frozen=True)
class Repetition:
    """The settings of a run to repeat, and the files and folders that are left out, by setting."""

    run_id: str
    spec: TransferSpec
    left_out: Mapping[str, Any]

    def announcement(self, named: Collection[str]) -> str:
        """Returns a line for the user, who has named files or folders for some settings."""
        text = f"measuring as in {self.run_id}: {describe(asdict(self.spec))}, iterations {self.spec.iterations}"
        missing = [f"{FILES_AND_FOLDERS[name]} {text}" for name, text in self.left_out.items() if name not in named]
        if not missing:
            return text
        return f"{text}; files and folders are not repeated, only those that you name are used: {', '.join(missing)}"


def last_repetition(store: Store, host: str, direction: Direction, last: int) -> Repetition | None:
    """Returns the repetition of a far end's newest measurement in a direction that belongs to no profile.

    Returns:
        None if there is none among the `last` ones, or if its settings are of another version.
    """
    for run in reversed(store.history(RunQuery(SCENARIO, host_name(host), last), ())):
        configuration, profile = run.record.plan.get("configuration"), run.record.plan.get("profile")
        if not profile and isinstance(configuration, Mapping) and configuration.get("direction") == direction:
            return repetition(run.record.run_id, configuration)
    return None


def repetition(run_id: str, configuration: Mapping[str, object]) -> Repetition | None:
    """Returns the repetition of a run; None if its settings are of another version."""
    settings = {name: value for name, value in configuration.items() if name not in FILES_AND_FOLDERS}
    try:
        spec = read_json(TransferSpec, json.dumps(settings))
    except (ValueError, UsageError):
        return None
    left_out = {name: str(configuration[name]) for name in FILES_AND_FOLDERS if configuration.get(name) not in _NOTHING}
    return Repetition(run_id, spec, left_out)
