"""Grades submissions in parallel; a crash affects one submission only."""

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from flightpath.calls import Returns, name_of
from flightpath.errors import MeasurementFailed, UsageError
from labs.grading import confinement
from labs.grading.marks import Marks, Status, ungraded
from labs.grading.one import marks
from labs.grading.submissions import HandedIn, copy


def grade(handed_in: Sequence[HandedIn], jobs: int) -> Iterator[Marks]:
    """Yields the marks of each submission, as soon as they are known.

    Raises:
        MissingCapability: this machine cannot confine submissions.
    """
    confinement.require_it()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for future in as_completed([pool.submit(_graded, each) for each in handed_in]):
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _graded(handed_in: HandedIn) -> Marks:
    with tempfile.TemporaryDirectory(prefix="flightpath-grade-") as name:
        folder = Path(name) / "submission"
        try:
            copy(handed_in, folder)
            graded = _confined(folder)
        except (UsageError, MeasurementFailed) as error:
            graded = ungraded(str(error).replace("\n  ", ": "))
    return replace(graded, name=handed_in.name)


def _confined(folder: Path) -> Marks:
    code, printed = confinement.run(["flightpath.calls", name_of(marks), "-"], folder)
    try:
        return Returns.of(marks).value(printed)
    except MeasurementFailed:
        return Marks(Status.NOT_JUDGED, note=f"its check ended with exit code {code}, and without marks")
