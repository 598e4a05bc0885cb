"""Exports as tables for spreadsheets and data frames: rows of text, numbers and None.

Structured values (parameters, plan, certificate) are JSON in one column. In the table of cells, columns
`parameter.NAME` repeat each parameter for grouping; they are not read back.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from results.exchange.export import ExportedRun

Row = dict[str, Any]
Tables = Mapping[str, Sequence[Row]]

COLUMNS: Mapping[str, Sequence[str]] = {
    "runs": ["run_id", "scenario", "started_at", "ended_at", "status", "command", "plan", "environment"],
    "cells": [
        "run_id",
        "cell",
        "repetition",
        "order",
        "started_at",
        "ended_at",
        "verdict",
        "parameters",
        "reasons",
        "found",
        "metadata",
    ],
    "metrics": ["run_id", "cell", "name", "value", "unit", "low", "high"],
    "series": ["run_id", "cell", "name", "unit", "points"],
    "points": ["run_id", "cell", "name", "index", "time_s", "value"],
    "claims": ["run_id", "claim_number", "claim", "paper", "measured", "verdict", "why"],
    "documents": ["run_id", "name", "text"],
}
"""Columns of each table. `cell` and `claim_number` count from 1 within a run, `index` from 0 within a series."""

TYPES: Mapping[str, type] = {
    **dict.fromkeys(("cell", "repetition", "order", "points", "index", "claim_number"), int),
    **dict.fromkeys(("value", "low", "high", "time_s"), float),
}
"""Types of the columns that are not text."""

NULLABLE = frozenset({"started_at", "ended_at", "low", "high"})
"""Columns that may be null; in all others an empty field is an empty text."""

_JSON = frozenset({"command", "plan", "environment", "parameters", "reasons", "found", "metadata"})


def to_tables(runs: Sequence[ExportedRun]) -> Tables:
    tables: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    for run in runs:
        key = {"run_id": run.run_id}
        document = run.model_dump(mode="json")
        tables["runs"].append(_row("runs", document))
        tables["claims"] += [
            _row("claims", {**key, "claim_number": number, **claim})
            for number, claim in enumerate(document["claims"], start=1)
        ]
        tables["documents"] += [{**key, "name": name, "text": text} for name, text in document["documents"].items()]
        for number, cell in enumerate(document["cells"], start=1):
            _add_cell(tables, {**key, "cell": number}, cell)
    return tables


def from_tables(tables: Tables) -> list[dict[str, Any]]:
    """Returns the runs of some tables, in the structure of `ExportedRun`, with unchecked values.

    Raises:
        ValueError: a row has no parent, is a duplicate or has invalid JSON, or points of a series are missing.
    """
    runs = {
        row["run_id"]: {**_values(row), "cells": [], "claims": [], "documents": {}}
        for row in _unique(tables, "runs", "run_id")
    }
    cells: dict[Any, dict[str, Any]] = {}
    series: dict[Any, dict[str, Any]] = {}
    for row in _unique(tables, "cells", "run_id", "cell"):
        cell = cells[row["run_id"], row["cell"]] = {**_values(row, "run_id", "cell"), "metrics": {}, "series": {}}
        _parent(runs, row["run_id"])["cells"].append(cell)
    for row in _unique(tables, "metrics", "run_id", "cell", "name"):
        _parent(cells, (row["run_id"], row["cell"]))["metrics"][row["name"]] = _values(row, "run_id", "cell", "name")
    for row in _unique(tables, "series", "run_id", "cell", "name"):
        one = series[row["run_id"], row["cell"], row["name"]] = {"unit": row["unit"], "times_s": [], "values": []}
        _parent(cells, (row["run_id"], row["cell"]))["series"][row["name"]] = one
    for row in sorted(tables["points"], key=lambda point: point["index"]):
        one = _parent(series, (row["run_id"], row["cell"], row["name"]))
        if row["index"] != len(one["values"]):
            raise ValueError(f"points: index {row['index']} of series {row['name']!r} is missing or there twice")
        one["times_s"].append(row["time_s"])
        one["values"].append(row["value"])
    for row in tables["series"]:
        if (points := len(series[row["run_id"], row["cell"], row["name"]]["values"])) != row["points"]:
            raise ValueError(f"points: series {row['name']!r} has {points} of {row['points']}")
    for row in _unique(tables, "claims", "run_id", "claim_number"):
        _parent(runs, row["run_id"])["claims"].append(_values(row, "run_id", "claim_number"))
    for row in _unique(tables, "documents", "run_id", "name"):
        _parent(runs, row["run_id"])["documents"][row["name"]] = row["text"]
    return list(runs.values())


def _add_cell(tables: Mapping[str, list[Row]], key: Row, cell: Mapping[str, Any]) -> None:
    parameters = {f"parameter.{name}": value for name, value in cell["parameters"].items()}
    tables["cells"].append({**_row("cells", {**key, **cell}), **parameters})
    tables["metrics"] += [{**key, "name": name, **metric} for name, metric in cell["metrics"].items()]
    for name, one in cell["series"].items():
        tables["series"].append({**key, "name": name, "unit": one["unit"], "points": len(one["values"])})
        tables["points"] += [
            {**key, "name": name, "index": index, "time_s": time, "value": value}
            for index, (time, value) in enumerate(zip(one["times_s"], one["values"], strict=True))
        ]


def _row(table: str, values: Mapping[str, Any]) -> Row:
    return {
        name: json.dumps(values[name], ensure_ascii=False) if name in _JSON else values[name] for name in COLUMNS[table]
    }


def _values(row: Row, *without: str) -> dict[str, Any]:
    return {
        name: from_json(value, allow_inf_nan=False) if name in _JSON else value
        for name, value in row.items()
        if name not in without
    }


def _unique(tables: Tables, table: str, *key: str) -> Iterator[Row]:
    seen = set()
    for row in tables[table]:
        values = tuple(row[name] for name in key)
        if values in seen:
            raise ValueError(f"{table}: there twice: {', '.join(map(str, values))}")
        seen.add(values)
        yield row


def _parent(parents: Mapping[Any, dict[str, Any]], key: Any) -> dict[str, Any]:
    if key not in parents:
        raise ValueError(f"a row names {key!r}, which is not there")
    return parents[key]
