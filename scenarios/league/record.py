"""The league's record: means of each point with their intervals, and the commit and commands that measured them."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from experiments.claims import check_claims
from flightpath.clock import Clock
from flightpath.errors import UsageError
from flightpath.project import PROJECT
from results.records import CellResult, Claim, ParameterValue, RunRecord, Verdict
from results.statistics.estimates import group, summarise, usable
from results.store.store import Store
from results.summary.means import metric_names
from results.summary.verdicts import badge_text, overall
from scenarios.league.causes import cause
from scenarios.league.claims import league_claims

RECORD = PROJECT / "docs" / "league.json"
AXES = ("workload", "paths", "transport")
_SCENARIO = "transport_league"
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Value:
    """A mean, with its 95 % interval if there are repetitions."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Point:
    """Measurements of the cells of one transport, pair of paths and workload.

    Attributes:
        clock: on which they were measured; records from before have the virtual one alone.
        repetitions: number of usable cells.
        verdict: that of the worst cell.
        why: what `causes.cause` says; empty in records from before.
    """

    parameters: dict[str, ParameterValue]
    repetitions: int
    verdict: Verdict
    metrics: dict[str, Value]
    why: str = ""
    clock: Clock = Clock.VIRTUAL


@dataclass(frozen=True)
class Source:
    """A run of the record, the command that repeats it, its commit, and the verdict on its cells."""

    run: str
    command: str
    commit: str
    certificate: str


@dataclass(frozen=True)
class Record:
    """Measurements of the league."""

    units: dict[str, str]
    sources: list[Source]
    points: list[Point]
    claims: list[Claim]


def read(file: Path = RECORD) -> Record:
    """Reads a record; raises UsageError if the file cannot be read or is none."""
    try:
        return TypeAdapter(Record).validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}", "make league") from error
    except ValidationError as error:
        raise UsageError(f"{file} is no record of the league: {error.errors()[0]['msg']}") from error


def write(record: Record, file: Path = RECORD) -> None:
    """Writes a record."""
    file.write_text(json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def record_of(store: Store, names: Sequence[str]) -> Record:
    """Returns the record of some runs of the league, each with cells of its own on its clock.

    Raises:
        UsageError: a run is of another scenario or of a modified checkout.
    """
    runs = [store.run(name) for name in names]
    for run in runs:
        if run.scenario != _SCENARIO:
            raise UsageError(f"{run.run_id} is a run of {run.scenario}, not of {_SCENARIO}")
        if not str(run.environment.get("commit", "")).isalnum():
            raise UsageError(f"{run.run_id} is of a modified checkout, or of none", "commit, and measure again")
    of_runs = [store.cells(run.run_id) for run in runs]
    cells = [cell for members in of_runs for cell in members]
    of_clocks = {clock: [cell for cell in cells if cell.clock is clock] for clock in Clock}
    return Record(
        {name: _only_one(_units(cells, name), f"units of {name}") for name in metric_names(cells)},
        [_source(run, members) for run, members in zip(runs, of_runs, strict=True)],
        [_point(members) for of_clock in of_clocks.values() for members in group(of_clock, AXES).values()],
        _claims(of_clocks),
    )


def _claims(of_clocks: Mapping[Clock, Sequence[CellResult]]) -> list[Claim]:
    """Judges claims about processors by cells of the real clock, if there are any, and all others in virtual time."""
    judged = []
    for check in league_claims():
        clock = Clock.REAL if check.needs_real_clock and of_clocks[Clock.REAL] else Clock.VIRTUAL
        judged += check_claims([check], of_clocks[clock], "full")
    return judged


def _point(cells: Sequence[CellResult]) -> Point:
    means = {name: summarise(cells, name, AXES)[0].estimate for name in metric_names(cells)}
    return Point(
        {name: cells[0].cell.parameters[name] for name in AXES},
        len(usable(cells)),
        overall(cells),
        {name: Value(mean.value, mean.low, mean.high) for name, mean in means.items()},
        cause(usable(cells) or cells),
        cells[0].clock,
    )


def _source(run: RunRecord, cells: Sequence[CellResult]) -> Source:
    return Source(run.run_id, shlex.join(run.command), str(run.environment["commit"]), badge_text(cells))


def _units(cells: Sequence[CellResult], metric: str) -> Iterable[str]:
    return (cell.measurement.metrics[metric].unit for cell in cells if metric in cell.measurement.metrics)


def _only_one(values: Iterable[_Value], what: str) -> _Value:
    different = list(dict.fromkeys(values))
    if len(different) != 1:
        raise UsageError(f"the runs have several {what}: {', '.join(map(str, different))}", "measure them alike")
    return different[0]
