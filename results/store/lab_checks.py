"""Checks of teaching labs in a store that a class shares, and the progress of the class.

Students may insert into `lab_checks`, but not read it, so that only the teacher sees names.
"""

import json
import secrets
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Text, cast, inspect, select
from sqlalchemy.orm import Session

from results.store.schema import LabCheckRow
from results.store.store import Store


@dataclass(frozen=True)
class LabCheck:
    """Result of a check."""

    lab: int
    title: str
    student: str
    course: str
    points: int
    most_points: int
    hints: tuple[str, ...] = ()

    @property
    def is_solved(self) -> bool:
        return self.points == self.most_points


_CHECK = TypeAdapter(LabCheck)


def keep_check(store: Store, check: LabCheck) -> None:
    """Records a check that ended now."""
    now = datetime.now(UTC).isoformat()
    values = {**vars(check), "hints": list(check.hints)}
    with store.writing() as session:
        session.add(LabCheckRow(check_id=secrets.token_hex(16), checked_at=now, **values))


def has_checks(store: Store) -> bool:
    """Returns whether a class has used this store."""
    with store.reading() as session:
        return _has_table(session) and session.scalar(select(LabCheckRow.check_id).limit(1)) is not None


def lab_checks(store: Store, course: str | None = None) -> list[LabCheck]:
    """Reads the checks of a course, or of all courses, oldest first; none in a store of an earlier version.

    Unreadable rows, of another program, are left out.
    """
    names = [field.name for field in fields(LabCheck)]
    columns = [getattr(LabCheckRow, name) for name in names if name != "hints"]
    statement = select(*columns, cast(LabCheckRow.hints, Text)).order_by(LabCheckRow.checked_at)
    if course is not None:
        statement = statement.where(LabCheckRow.course == course)
    with store.reading() as session:
        rows = session.execute(statement).all() if _has_table(session) else ()
    return [check for row in rows if (check := _read(dict(zip(names, row, strict=True))))]


def _read(values: dict[str, Any]) -> LabCheck | None:
    try:
        return _CHECK.validate_python({**values, "hints": json.loads(values["hints"])})
    except (ValueError, TypeError, RecursionError):
        return None


def _has_table(session: Session) -> bool:
    return inspect(session.connection()).has_table(LabCheckRow.__tablename__)


# --- progress ---


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
