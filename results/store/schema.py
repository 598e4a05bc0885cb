"""Tables of the store."""

import struct
import zlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import JSON, Dialect, ForeignKey, Index, LargeBinary, String, TypeDecorator, UniqueConstraint, func
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.sql.functions import FunctionElement

from flightpath.overrides import override

SCHEMA_VERSION = 4
"""Version of the tables; each change of them increments it.

A store of an earlier version is upgraded (`backend.upgrade`) when it is opened for writing, and can be read without
that. `info["since"]` of a table is the version that introduced it. An SQLite store keeps its version in `user_version`
too: before version 3 it has no other."""

APPLICATION_ID = 0x464C5450
"""SQLite's `application_id` of a store (`FLTP`), which distinguishes it from databases of other programs."""


class UnreadableValue(ValueError):
    """A column holds invalid data."""


def _unpacked(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise UnreadableValue(f"not compressed data: {value!r:.80}")
    try:
        return zlib.decompress(value)
    except zlib.error as error:
        raise UnreadableValue(f"not compressed data: {error}") from error


class CompressedText(TypeDecorator[str]):
    """A text, stored as zlib-compressed UTF-8."""

    impl, cache_ok = LargeBinary, True

    @override
    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        return None if value is None else zlib.compress(value.encode())

    @override
    def process_result_value(self, value: object, dialect: Dialect) -> str:
        try:
            return _unpacked(value).decode()
        except UnicodeDecodeError as error:
            raise UnreadableValue(str(error)) from error


class CompressedNumbers(TypeDecorator[tuple[float, ...]]):
    """Numbers, stored as zlib-compressed little-endian float64."""

    impl, cache_ok = LargeBinary, True

    @override
    def process_bind_param(self, value: Sequence[float] | None, dialect: Dialect) -> bytes | None:
        return None if value is None else zlib.compress(struct.pack(f"<{len(value)}d", *value))

    @override
    def process_result_value(self, value: object, dialect: Dialect) -> tuple[float, ...]:
        data = _unpacked(value)
        if len(data) % 8:
            raise UnreadableValue(f"{len(data)} bytes are no numbers")
        return struct.unpack(f"<{len(data) // 8}d", data)


class Base(DeclarativeBase):
    """Base class of all tables."""

    type_annotation_map = {dict[str, Any]: JSON, list[str]: JSON}  # noqa: RUF012 (SQLAlchemy's own form)


class RunRow(Base):
    """One run of a scenario."""

    __tablename__ = "runs"

    run_id: Mapped[str] = mapped_column(primary_key=True)
    scenario: Mapped[str] = mapped_column(index=True)
    plan: Mapped[dict[str, Any]]
    command: Mapped[list[str]]
    environment: Mapped[dict[str, Any]]
    started_at: Mapped[str]
    ended_at: Mapped[str | None]
    status: Mapped[str]


class _HostOf(FunctionElement[str]):
    """The `host` in a JSON column, in each database's dialect; an index and a query must have the same text."""

    inherit_cache = True
    type = String()


@compiles(_HostOf)
def _in_sqlite(element: _HostOf, compiler: Any, **options: Any) -> str:
    return f"json_extract({compiler.process(element.clauses, **options)}, '$.host')"


@compiles(_HostOf, "postgresql")
def _in_postgresql(element: _HostOf, compiler: Any, **options: Any) -> str:
    return f"({compiler.process(element.clauses, **options)} ->> 'host')"


class _HostIfReadable(_HostOf):
    """The same, or NULL where another program wrote invalid JSON, which only SQLite allows."""

    inherit_cache = True


@compiles(_HostIfReadable)
def _checked_in_sqlite(element: _HostIfReadable, compiler: Any, **options: Any) -> str:
    column = compiler.process(element.clauses, **options)
    return f"CASE WHEN json_valid({column}) THEN json_extract({column}, '$.host') END"


compiles(_HostIfReadable, "postgresql")(_in_postgresql)

RUN_HOST = _HostOf(RunRow.plan)
"""Column: `host` in a run's plan, the remote machine of a preflight."""

RUN_PROFILE = func.coalesce(RunRow.plan["profile"].as_string(), "")
"""Column: the profile under which a preflight measured; empty without one."""

RUN_MACHINE = func.coalesce(_HostIfReadable(RunRow.environment), "-")
"""Column: the machine of a run; `-` if it is not recorded."""

Index("ix_runs_host_started_at", RUN_HOST, RunRow.started_at)
Index("ix_runs_started_at", RunRow.started_at, RunRow.run_id)


class CellRow(Base):
    """One measured cell with its certificate; `key` is its parameters as canonical JSON."""

    __tablename__ = "cells"
    __table_args__ = (
        UniqueConstraint("run_id", "key", "repetition"),
        Index("ix_cells_run_id_verdict", "run_id", "verdict"),
    )

    cell_id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"))
    key: Mapped[str]
    parameters: Mapped[dict[str, Any]]
    repetition: Mapped[int]
    order: Mapped[int]
    started_at: Mapped[str | None]
    ended_at: Mapped[str]
    facts: Mapped[dict[str, Any]]
    verdict: Mapped[str]
    reasons: Mapped[list[str]]
    found: Mapped[dict[str, Any]]
    metrics: Mapped[list["MetricRow"]] = relationship(order_by="MetricRow.metric_id")
    series: Mapped[list["SeriesRow"]] = relationship(order_by="SeriesRow.series_id")


class MetricRow(Base):
    """One metric of a cell, with its unit and, where it was computed, its 95 % confidence interval."""

    __tablename__ = "metrics"
    __table_args__ = (UniqueConstraint("cell_id", "name"),)

    metric_id: Mapped[int] = mapped_column(primary_key=True)
    cell_id: Mapped[int] = mapped_column(ForeignKey("cells.cell_id"))
    name: Mapped[str]
    value: Mapped[float]
    unit: Mapped[str]
    low: Mapped[float | None]
    high: Mapped[float | None]


class SeriesRow(Base):
    """One quantity of a cell over time: as many times (s) as values."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("cell_id", "name"),)

    series_id: Mapped[int] = mapped_column(primary_key=True)
    cell_id: Mapped[int] = mapped_column(ForeignKey("cells.cell_id"))
    name: Mapped[str]
    unit: Mapped[str]
    times: Mapped[tuple[float, ...]] = mapped_column(CompressedNumbers)
    values: Mapped[tuple[float, ...]] = mapped_column(CompressedNumbers)


class ClaimRow(Base):
    """One claim and its verdict, as last judged from the cells."""

    __tablename__ = "claims"

    claim_id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"), index=True)
    claim: Mapped[str]
    paper: Mapped[str]
    measured: Mapped[str]
    verdict: Mapped[str]
    why: Mapped[str]


class DocumentRow(Base):
    """A text that belongs to a run."""

    __tablename__ = "documents"
    __table_args__ = (UniqueConstraint("run_id", "name"), {"info": {"since": 2}})

    document_id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"))
    name: Mapped[str]
    content: Mapped[str] = mapped_column(CompressedText)


class LabCheckRow(Base):
    """Result of a check of a teaching lab; students may write rows without the right to read them."""

    __tablename__ = "lab_checks"
    __table_args__ = ({"info": {"since": 4}},)

    check_id: Mapped[str] = mapped_column(primary_key=True)
    checked_at: Mapped[str]
    course: Mapped[str]
    student: Mapped[str]
    lab: Mapped[int]
    title: Mapped[str]
    points: Mapped[int]
    most_points: Mapped[int]
    hints: Mapped[list[str]]


class VersionRow(Base):
    """The version of the tables: one row. Versions 3 and 4 of the store were made by Alembic, hence the name."""

    __tablename__ = "alembic_version"
    __table_args__ = ({"info": {"since": 3}},)

    version_num: Mapped[str] = mapped_column(String(32), primary_key=True)
