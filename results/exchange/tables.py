"""An export as tables: without this a spreadsheet or a data frame could not read what was measured.

The tables, and what tells a row from the others of its run:

| table | a row is | told by |
| --- | --- | --- |
| runs | a run | run_id |
| cells | a measured cell with its certificate | cell (from 1) |
| metrics | a figure of a cell | cell, name |
| series | a quantity of a cell over time | cell, name |
| points | a point of such a series | cell, name, index |
| claims | a claim of the paper | claim_number |
| documents | a text that was kept with a run | name |

What has structure of its own (parameters, plan, certificate) is JSON in its column; `parameter.NAME` columns repeat
the cells' parameters for whoever wants to group by them, and are not read.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from results.exchange.exchange import ExportedRun

Tables = dict[str, list[dict[str, Any]]]

_RUN_JSON = ("command", "plan", "environment")
_CELL_JSON = ("parameters", "reasons", "found", "metadata")

COLUMNS: Mapping[str, Mapping[str, type]] = {
    "runs": {
        "run_id": str,
        "scenario": str,
        "started_at": str,
        "ended_at": str,
        "status": str,
        "command": str,
        "plan": str,
        "environment": str,
    },
    "cells": {
        "run_id": str,
        "cell": int,
        "repetition": int,
        "order": int,
        "started_at": str,
        "ended_at": str,
        "verdict": str,
        "parameters": str,
        "reasons": str,
        "found": str,
        "metadata": str,
    },
    "metrics": {"run_id": str, "cell": int, "name": str, "value": float, "unit": str, "low": float, "high": float},
    "series": {"run_id": str, "cell": int, "name": str, "unit": str, "points": int},
    "points": {"run_id": str, "cell": int, "name": str, "index": int, "time_s": float, "value": float},
    "claims": {
        "run_id": str,
        "claim_number": int,
        "claim": str,
        "paper": str,
        "measured": str,
        "verdict": str,
        "why": str,
    },
    "documents": {"run_id": str, "name": str, "text": str},
}
"""Each table's columns and their types."""

MAY_BE_NULL = frozenset({("runs", "ended_at"), ("cells", "started_at"), ("metrics", "low"), ("metrics", "high")})
"""What may have no value; everywhere else an empty text is an empty text."""


def to_tables(runs: Sequence[ExportedRun]) -> Tables:
    """Runs as tables."""
    tables: Tables = {name: [] for name in COLUMNS}
    for run in runs:
        told = run.model_dump(mode="json", exclude={"cells", "claims", "documents"})
        tables["runs"].append({**told, **{name: _json(told[name]) for name in _RUN_JSON}})
        tables["claims"] += [
            {"run_id": run.run_id, "claim_number": number, **claim.model_dump(mode="json")}
            for number, claim in enumerate(run.claims, start=1)
        ]
        tables["documents"] += [{"run_id": run.run_id, "name": n, "text": t} for n, t in run.documents.items()]
        for number, cell in enumerate(run.cells, start=1):
            _add_cell(tables, {"run_id": run.run_id, "cell": number}, cell.model_dump(mode="json"))
    return tables


def from_tables(tables: Tables) -> list[dict[str, Any]]:
    """The runs of some tables, as objects that have still to be checked.

    Raises:
        ValueError: rows name a run, cell or series that is not there, are there twice, or hold no JSON.
    """
    runs = {
        row["run_id"]: {**row, **_parsed(row, _RUN_JSON), "cells": [], "claims": [], "documents": {}}
        for row in _told_once(tables["runs"], "runs", "run_id")
    }
    cells: dict[tuple[str, int], dict[str, Any]] = {}
    for row in _told_once(tables["cells"], "cells", "run_id", "cell"):
        told = {name: row[name] for name in COLUMNS["cells"] if name not in ("run_id", "cell")}
        cells[row["run_id"], row["cell"]] = {**told, **_parsed(row, _CELL_JSON), "metrics": {}, "series": {}}
        _found(runs, row["run_id"])["cells"].append(cells[row["run_id"], row["cell"]])
    for row in _told_once(tables["metrics"], "metrics", "run_id", "cell", "name"):
        figures = {name: row[name] for name in ("value", "unit", "low", "high")}
        _found(cells, (row["run_id"], row["cell"]))["metrics"][row["name"]] = figures
    _take_series(tables, cells)
    for row in _told_once(tables["claims"], "claims", "run_id", "claim_number"):
        told = {name: row[name] for name in ("claim", "paper", "measured", "verdict", "why")}
        _found(runs, row["run_id"])["claims"].append(told)
    for row in _told_once(tables["documents"], "documents", "run_id", "name"):
        _found(runs, row["run_id"])["documents"][row["name"]] = row["text"]
    return list(runs.values())


def _add_cell(tables: Tables, key: dict[str, Any], cell: dict[str, Any]) -> None:
    metrics, series = cell.pop("metrics"), cell.pop("series")
    parameters = {f"parameter.{name}": value for name, value in cell["parameters"].items()}
    tables["cells"].append({**key, **cell, **{name: _json(cell[name]) for name in _CELL_JSON}, **parameters})
    tables["metrics"] += [{**key, "name": name, **metric} for name, metric in metrics.items()]
    for name, one in series.items():
        tables["series"].append({**key, "name": name, "unit": one["unit"], "points": len(one["values"])})
        tables["points"] += [
            {**key, "name": name, "index": index, "time_s": time, "value": value}
            for index, (time, value) in enumerate(zip(one["times_s"], one["values"], strict=True))
        ]


def _take_series(tables: Tables, cells: dict[tuple[str, int], dict[str, Any]]) -> None:
    series: dict[tuple[str, int, str], dict[str, Any]] = {}
    wanted: dict[tuple[str, int, str], int] = {}
    for row in _told_once(tables["series"], "series", "run_id", "cell", "name"):
        key = (row["run_id"], row["cell"], row["name"])
        wanted[key] = row["points"]
        series[key] = {"unit": row["unit"], "times_s": [], "values": []}
        _found(cells, key[:2])["series"][row["name"]] = series[key]
    for row in sorted(tables["points"], key=lambda row: row["index"]):
        one = _found(series, (row["run_id"], row["cell"], row["name"]))
        if row["index"] != len(one["values"]):
            raise ValueError(f"points: index {row['index']} of series {row['name']!r} is missing or there twice")
        one["times_s"].append(row["time_s"])
        one["values"].append(row["value"])
    for key, one in series.items():
        if len(one["values"]) != wanted[key]:
            raise ValueError(f"points: series {key[2]!r} has {len(one['values'])} of {wanted[key]}")


def _told_once(rows: Sequence[dict[str, Any]], table: str, *names: str) -> Iterator[dict[str, Any]]:
    seen = set()
    for row in rows:
        key = tuple(row[name] for name in names)
        if key in seen:
            raise ValueError(f"{table}: there twice: {', '.join(map(str, key))}")
        seen.add(key)
        yield row


def _found(known: Mapping[Any, Any], key: Any) -> Any:
    if key not in known:
        raise ValueError(f"a row names {key!r}, which is not there")
    return known[key]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parsed(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    read: Callable[[str], Any] = lambda text: from_json(text, allow_inf_nan=False)  # noqa: E731
    return {name: read(row[name]) for name in names}
