"""Progress of a class, and of each student, with the teaching labs."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.store.lab_checks import LabCheck


@dataclass(frozen=True)
class LabProgress:
    """A class's progress with one lab.

    Attributes:
        students, solved: number of students who tried it, and who got all points.
        checks: median number of checks until it was solved; None if nobody solved it.
        hint: most frequent hint for students who have not solved it; empty if all have.
    """

    lab: int
    title: str
    students: int
    solved: int
    checks: float | None
    hint: str


@dataclass(frozen=True)
class Best:
    """A student's best check of a lab, and the number of checks."""

    points: int
    most_points: int
    checks: int


def by_lab(checks: Sequence[LabCheck]) -> list[LabProgress]:
    """Returns a class's progress, lab by lab; checks are in the order of time."""
    tries: dict[int, dict[str, list[LabCheck]]] = defaultdict(lambda: defaultdict(list))
    for check in checks:
        tries[check.lab][check.student].append(check)
    return [_lab_progress(list(of_lab.values())) for _, of_lab in sorted(tries.items())]


def by_student(checks: Sequence[LabCheck]) -> dict[str, Mapping[int, Best]]:
    """Returns each student's best checks, by lab."""
    tries: dict[str, dict[int, list[LabCheck]]] = defaultdict(lambda: defaultdict(list))
    for check in checks:
        tries[check.student][check.lab].append(check)
    return {student: {lab: _best(tried) for lab, tried in of.items()} for student, of in sorted(tries.items())}


def _best(tried: Sequence[LabCheck]) -> Best:
    best = max(tried, key=lambda check: check.points / max(1, check.most_points))
    return Best(best.points, best.most_points, len(tried))


def _lab_progress(of_students: Sequence[Sequence[LabCheck]]) -> LabProgress:
    needed = [_checks_until_solved(tried) for tried in of_students]
    solved = [count for count in needed if count]
    hints = Counter(
        hint
        for tried, count in zip(of_students, needed, strict=True)
        if not count
        for hint in dict.fromkeys(tried[-1].hints)
    )
    first = of_students[0][0]
    return LabProgress(
        lab=first.lab,
        title=first.title,
        students=len(of_students),
        solved=len(solved),
        checks=statistics.median(solved) if solved else None,
        hint=hints.most_common(1)[0][0] if hints else "",
    )


def _checks_until_solved(tried: Sequence[LabCheck]) -> int:
    """Counts a student's checks up to the first that is solved; 0 if none is."""
    return next((number for number, check in enumerate(tried, start=1) if check.is_solved), 0)
