"""Checks of teaching labs in a store that a class shares.

Students may insert into `lab_checks`, but not read it, so that only the teacher sees names.
"""

import json
import secrets
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
