"""Grades submissions in parallel, each in a confinement; a crash affects one submission only."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from execution.guests.shared_folder import shared_folder
from flightpath.calls import Returns, name_of
from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from labs.framework.checking import check
from labs.framework.work import Submission, read
from labs.grading import confinement
from labs.grading.marks import Marks, Status, ungraded
from labs.grading.submissions import HandedIn, copy


def grade(handed_in: Sequence[HandedIn], jobs: int) -> Iterator[Marks]:
    """Yields the marks of each submission, as soon as they are known."""
    confinement.require_it()
    stop = threading.Event()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for future in as_completed([pool.submit(_graded, each, stop) for each in handed_in]):
                yield future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _graded(handed_in: HandedIn, stop: threading.Event) -> Marks:
    with shared_folder() as folder:  # it goes with this process, however that ends
        try:
            copy(handed_in, folder / "submission")
            graded = _confined(folder / "submission", stop)
        except (UsageError, MeasurementFailed) as error:
            graded = ungraded(error)
    return replace(graded, name=handed_in.name)


def _confined(folder: Path, stop: threading.Event) -> Marks:
    code, printed = confinement.run(["-m", "flightpath.calls", name_of(marks_inside), "-"], folder, stop)
    try:
        return Returns.of(marks_inside).value(printed)
    except MeasurementFailed:
        return Marks(Status.NOT_JUDGED, note=f"its check ended with exit code {code}, and without marks")


def marks_inside() -> Marks:
    """Checks the submission of the confinement in which this runs; one that cannot be tried has marks too."""
    submission: Submission | None = None
    try:
        submission = read(confinement.SUBMISSION)
        return Marks.of_checked(check(submission))
    except FlightpathError as error:
        return ungraded(error, submission)
