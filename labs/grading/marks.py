"""The marks of a submission, and their export to other programs."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from flightpath.errors import FlightpathError
from flightpath.spreadsheets import quoted
from labs.framework.checking import Checked
from labs.framework.lab import Finding, canonical, hints
from labs.framework.work import Submission
from results.store.ownership import give_to_caller, make_folder

_MAX_NAMED = 3
"""Maximum number of other submissions in a note."""


class Status(StrEnum):
    """Outcome of a submission."""

    JUDGED = "judged"
    NOT_JUDGED = "not judged"
    """The measurement cannot be trusted: try again."""
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Marks:
    """The marks of one submission.

    Attributes:
        name: name of the folder or archive that was handed in; empty until it is known.
        student, course, lab: identity according to the submission itself.
        note: remarks for the teacher.
    """

    status: Status
    lab: int = 0
    student: str = ""
    course: str = ""
    points: int = 0
    of: int = 0
    findings: tuple[Finding, ...] = ()
    note: str = ""
    name: str = ""

    @classmethod
    def of_checked(cls, checked: Checked) -> "Marks":
        variant, measured = checked.submission.variant, checked.measured
        reasons = "; ".join(measured.reasons)
        return cls(
            status=Status.JUDGED if checked.is_judged else Status.NOT_JUDGED,
            lab=checked.submission.lab.number,
            student=variant.student,
            course=variant.course,
            points=checked.points,
            of=checked.of,
            findings=tuple(checked.findings),
            note=measured.failure or ("" if checked.is_judged else f"the measurement is {measured.verdict}: {reasons}"),
        )


def ungraded(error: FlightpathError, submission: Submission | None = None) -> Marks:
    """Returns the marks of a submission that could not be tried, or without it of one that could not be read."""
    note = str(error).replace("\n  ", ": ")
    if submission is None:
        return Marks(Status.UNREADABLE, note=note)
    variant = submission.variant
    return Marks(Status.NOT_JUDGED, submission.lab.number, variant.student, variant.course, note=note)


def with_doubts(marks: Sequence[Marks], course: str) -> list[Marks]:
    """Adds notes to marks whose author is in doubt: the variant, or its name, may be somebody else's."""
    doubted = []
    for each in marks:
        same_lab = [other for other in marks if other.lab == each.lab and other is not each]
        doubts = _doubts(each, same_lab, course) if each.student else ()
        doubted.append(replace(each, note="; ".join(filter(None, [each.note, *doubts]))))
    return doubted


def _doubts(marks: Marks, others: Sequence[Marks], course: str) -> Iterator[str]:
    student = canonical(marks.student)
    if canonical(marks.course) != canonical(course):
        yield f"the variant is of course {marks.course!r} instead of {course!r}"
    if same := sum(canonical(each.student) == student for each in others):
        yield f"{same + 1} submissions are of the variant of {marks.student}"
    if not _names(marks.name, student):
        yield f"the variant is of {marks.student}, and the submission is called {marks.name}"
    elif also := [each.name for each in others if canonical(each.student) != student and _names(each.name, student)]:
        yield f"the variant is of {marks.student}, which {', '.join(also[:_MAX_NAMED])} could be, too"


def _names(submission: str, student: str) -> bool:
    """Returns whether a student's name is in a submission's, in whole words: one letter is in nearly every name."""
    named, words = (re.sub(r"[\W_]+", " ", f" {canonical(text)} ") for text in (submission, student))
    return bool(words.strip()) and words in named


def write_csv(marks: Iterable[Marks], file: Path) -> None:
    rows = [(m.name, m.student, m.lab, m.points, m.of, m.status, " | ".join(hints(m.findings)), m.note) for m in marks]
    _write_table(file, ("submission", "student", "lab", "points", "of", "status", "hints", "note"), rows)


def write_nbgrader(marks: Iterable[Marks], file: Path) -> None:
    """Writes a CSV file with the columns of `nbgrader export`, which learning platforms import."""
    head = ("assignment", "student_id", "raw_score", "late_submission_penalty", "score", "max_score")
    graded = [each for each in marks if each.status is Status.JUDGED]
    _write_table(file, head, [(f"lab{m.lab:02}", m.student, m.points, 0, m.points, m.of) for m in graded])


def write_gradescope(marks: Iterable[Marks], folder: Path) -> None:
    """Writes a `results.json` for Gradescope's autograder per submission, in a folder of its name."""
    for each in marks:
        target = folder / each.name / "results.json"
        make_folder(target.parent)
        target.write_text(json.dumps(gradescope(each), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        give_to_caller(target)


def gradescope(marks: Marks) -> dict[str, object]:
    """Returns the marks as Gradescope's autograder reads them."""
    tests = [
        {
            "name": finding.what,
            "score": finding.points if finding.passed else 0,
            "max_score": finding.points,
            "status": "passed" if finding.passed else "failed",
            "output": finding.evidence if finding.passed else f"{finding.evidence}\nhint: {finding.hint}",
        }
        for finding in marks.findings
    ]
    return {"score": marks.points, "output": marks.note, "visibility": "visible", "tests": tests}


def _write_table(file: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(head)
        writer.writerows([[quoted(value) for value in row] for row in rows])
    give_to_caller(file)
