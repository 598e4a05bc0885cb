"""Experiments with students' work, mostly in virtual time: the far side of `labs.framework.experiments`."""

import os
import random
import shutil
from pathlib import Path

from pydantic import BaseModel

from flightpath.calls import SHARED
from flightpath.clock import Clock, clock_here
from flightpath.errors import FlightpathError
from labs.framework.lab import Measured, Work
from labs.framework.network import RECORDING
from labs.framework.work import MAX_BYTES, read
from results.records import Verdict
from topologies.sandbox import sandbox
from topologies.sandbox.sandbox import TEMPORARY

RECORDED = "recorded.packets"
"""File in the shared folder with the recording of an experiment."""


class Experiment(BaseModel):
    """Request for an experiment.

    Attributes:
        folder: folder of the student's work.
        draw: seed of this trial, which nobody can know before.
    """

    folder: str
    draw: int


class Experiments(BaseModel):
    """Request for experiments, one after the other.

    Attributes:
        is_recorded: whether the packets are recorded.
    """

    of: list[Experiment]
    is_recorded: bool = False


def measure_all(request: Experiments) -> list[Measured]:
    """Makes the experiments of a request in a sandbox."""
    if clock_here() is Clock.VIRTUAL:  # in a guest: students' programs need none, and can attack less of its kernel
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
    RECORDING.set(Path(os.environ[SHARED]) / RECORDED if request.is_recorded else None)
    return sandbox.call_inside(lambda: [_measured(each) for each in request.of])


def failed(error: object) -> Measured:
    return Measured({}, Verdict.UNUSABLE, failure=str(error))


def _measured(experiment: Experiment) -> Measured:
    try:
        submission = read(Path(experiment.folder))
        work, lab = submission.work, submission.lab
        parameters = lab.tried_in(submission.variant.parameters(lab), random.Random(experiment.draw))
        return lab.measure(parameters, Work(_readable(work.folder), lab.tried(work.answers)))
    except FlightpathError as error:
        return failed(error)


def _readable(folder: Path) -> Path:
    """Copies a student's files so that unprivileged programs can read them, and returns the copy's folder."""
    target = TEMPORARY / "work"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=0o755)
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= MAX_BYTES:
            copy = target / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
            copy.write_bytes(file.read_bytes())
            copy.chmod(0o755)
    return target
