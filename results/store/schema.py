"""The tables of the store: without them every reader would guess what a column means."""

from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, String, UniqueConstraint, func
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.sql.functions import FunctionElement

SCHEMA_VERSION = 3
"""Kept in Alembic's table, and in SQLite's `user_version`; raised by one with each change of the tables.

Each change is a step in `migrations/versions`; what a table's `info` says came `since` one is missing before it. A
store of an older version is brought up to date when it is opened to be written, and read as it is."""

APPLICATION_ID = 0x464C5450
"""Kept in SQLite's `application_id` (`FLTP`): tells a store from anybody else's database."""


class Base(DeclarativeBase):
    """The tables of one store."""

    type_annotation_map = {dict[str, Any]: JSON, list[str]: JSON}  # noqa: RUF012 (SQLAlchemy's own way to say it)


class RunRow(Base):
    """One run of a scenario: what was asked for, on which machine, and how it ended."""

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
    """The `host` in a JSON column, in each database's own words: the same in a query and in the index it may have."""

    inherit_cache = True
    type = String()


@compiles(_HostOf)
def _in_sqlite(element: _HostOf, compiler: Any, **options: Any) -> str:
    return f"json_extract({compiler.process(element.clauses, **options)}, '$.host')"


@compiles(_HostOf, "postgresql")
def _in_postgresql(element: _HostOf, compiler: Any, **options: Any) -> str:
    return f"({compiler.process(element.clauses, **options)} ->> 'host')"


RUN_HOST = _HostOf(RunRow.plan)
"""The far machine of a run whose plan names one as `host`: a preflight's history is asked for by it."""

RUN_MACHINE = func.coalesce(_HostOf(RunRow.environment), "-")
"""The machine that a run was made on; `-` if the run does not say."""

Index("ix_runs_host_started_at", RUN_HOST, RunRow.started_at)
Index("ix_runs_started_at", RunRow.started_at, RunRow.run_id)


class CellRow(Base):
    """One measured cell with its certificate; `key` is its parameters in a canonical form."""

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
    """One figure of a cell, with its unit and, where one was computed, its 95 % confidence interval."""

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
    """One quantity of a cell over time: times (s) and values as zlib-compressed little-endian float64, equally many."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("cell_id", "name"),)

    series_id: Mapped[int] = mapped_column(primary_key=True)
    cell_id: Mapped[int] = mapped_column(ForeignKey("cells.cell_id"))
    name: Mapped[str]
    unit: Mapped[str]
    times: Mapped[bytes] = mapped_column(LargeBinary)
    values: Mapped[bytes] = mapped_column(LargeBinary)


class ClaimRow(Base):
    """One claim of the paper beside what the run measured, as the scenario last derived it from the cells."""

    __tablename__ = "claims"

    claim_id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"), index=True)
    claim: Mapped[str]
    paper: Mapped[str]
    measured: Mapped[str]
    verdict: Mapped[str]
    why: Mapped[str]


class DocumentRow(Base):
    """A text that belongs to a run and is read as a whole, zlib-compressed UTF-8: what no column could ask for."""

    __tablename__ = "documents"
    __table_args__ = (UniqueConstraint("run_id", "name"), {"info": {"since": 2}})

    document_id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"))
    name: Mapped[str]
    content: Mapped[bytes] = mapped_column(LargeBinary)


class VersionRow(Base):
    """The version of the tables, as Alembic keeps it: one row."""

    __tablename__ = "alembic_version"
    __table_args__ = ({"info": {"since": 3}},)

    version_num: Mapped[str] = mapped_column(String(32), primary_key=True)
