"""Recordings of the load: what happened to each packet on each link, kept with the results."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import native
from experiments.captures import Context
from experiments.plan import Plan
from results.recording.blocks import FOLDER, append_description, file_name
from results.store.ownership import give_to_caller, make_folder
from topologies.capture.recorder import MAX_BYTES, Recorder
from topologies.testbed.testbed import Testbed


def check(plan: Plan) -> None:
    """Checks that the recorder is there, if the plan wants one.

    Raises:
        MissingCapability: it has not been built.
    """
    if plan.settings.get("record"):
        native.binary("recorder")


@contextlib.contextmanager
def running(testbed: Testbed, context: Context) -> Iterator[Recorder | None]:
    """Provides the recorder of a cell under load, if the plan wants one; its file is in the run's folder."""
    if not context.plan.settings.get("record"):
        yield None
        return
    folder: Path = context.artifacts / FOLDER
    make_folder(folder)
    with Recorder(testbed.net, folder / file_name(context.cell.label)) as recorder:
        yield recorder
    if recorder.description:
        append_description(recorder.file, recorder.description)
    give_to_caller(recorder.file)


def facts(recorder: Recorder | None) -> Mapping[str, Any]:
    """Returns what was recorded, for the certificate: recording costs processor time."""
    if recorder is None:
        return {}
    found = {"limit_bytes": MAX_BYTES, **recorder.found, "file_bytes": recorder.file.stat().st_size}
    return {"recording": {"file": f"{FOLDER}/{recorder.file.name}", **found}}
