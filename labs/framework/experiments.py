"""Experiments with students' work: in virtual time, where a slow machine costs no marks, or by this machine's clock."""

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from execution.uml import kernel
from execution.uml.uml import UserModeLinux
from flightpath.clock import Clock
from flightpath.errors import MeasurementFailed
from flightpath.launcher import project_python
from flightpath.project import PROJECT
from labs.framework.lab import Measured
from labs.framework.work import Submission
from results.records import Verdict

TIME_LIMIT_S = 300.0
"""Time limit of one experiment, on this machine's clock."""

_SEED = 1
_MEMORY_MIB = 1024


@dataclass(frozen=True)
class Request:
    """Request for an experiment: whose work is tried, as paths and numbers."""

    folder: str
    lab: int
    student: str
    course: str


def measure(submissions: Sequence[Submission], clock: Clock = Clock.VIRTUAL) -> list[Measured]:
    """Makes the experiments of some submissions, one after the other, in one virtual-time kernel or on this machine.

    Raises:
        MissingCapability: there is no virtual-time kernel, or what the real clock needs is missing.
        MeasurementFailed: the virtual-time kernel ended early, or ran out of time.
    """
    requests = [
        Request(str(each.work.folder.absolute()), each.lab.number, each.variant.student, each.variant.course)
        for each in submissions
    ]
    with tempfile.TemporaryDirectory(prefix="flightpath-lab-") as name:
        folder = Path(name)
        (folder / "requests.json").write_bytes(TypeAdapter(list[Request]).dump_json(requests))
        argv = [project_python(), "-m", "labs.framework.inside", str(folder)]
        limit_s = TIME_LIMIT_S * len(requests)
        code = _in_uml(argv, folder, limit_s) if clock is Clock.VIRTUAL else _here(argv, limit_s)
        results = folder / "measured.json"
        if not results.exists():
            raise MeasurementFailed(f"the experiment ended with exit code {code}, and without a result")
        return TypeAdapter(list[Measured]).validate_json(results.read_bytes())


def failed(error: object) -> Measured:
    """Returns the result for work that could not be measured."""
    return Measured({}, Verdict.UNUSABLE, failure=str(error))


def _in_uml(argv: Sequence[str], folder: Path, limit_s: float) -> int:
    return UserModeLinux(kernel.find(), memory_mib=_MEMORY_MIB, writable=folder, seed=_SEED).run(
        argv, time_limit_s=limit_s
    )


def _here(argv: Sequence[str], limit_s: float) -> int:
    try:
        return subprocess.run(argv, cwd=PROJECT, stdin=subprocess.DEVNULL, timeout=limit_s, check=False).returncode
    except subprocess.TimeoutExpired as error:
        raise MeasurementFailed(f"the experiment took more than {limit_s:g} s") from error
