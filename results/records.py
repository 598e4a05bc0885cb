"""Records of measurements: cells, metrics, series, certificates, claims and runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from flightpath.clock import Clock
from flightpath.units import counted

ParameterValue = str | int | float | bool

PROGRESS_DOCUMENT = "live.json"
"""Document of a running run with the progress of its cell (`results.exchange.progress`)."""


class Verdict(StrEnum):
    """Whether a cell's metrics can be trusted, from best to worst."""

    FAITHFUL = "faithful"
    DEGRADED = "degraded"
    UNUSABLE = "unusable"

    @classmethod
    def worst(cls, verdicts: "list[Verdict]") -> "Verdict":
        """Returns the worst of several verdicts; `faithful` for none."""
        order = list(cls)
        return max(verdicts, key=order.index, default=cls.FAITHFUL)

    def worse(self) -> "list[Verdict]":
        order = list(Verdict)
        return order[order.index(self) + 1 :]


@dataclass(frozen=True)
class Metric:
    """A value with its unit (SI symbols: `bit/s`, `s`, `ms`, `1/s`, `%`, or `1` for counts).

    `low` and `high` are the bounds of its 95 % confidence interval, if it has one.
    """

    value: float
    unit: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """A quantity over time: `values[i]`, in `unit`, holds for the interval that begins at `times_s[i]`.

    Times count from the start of the load; both sequences have the same length.
    """

    unit: str
    times_s: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.times_s) != len(self.values):
            raise ValueError(f"{len(self.times_s)} times for {len(self.values)} values")


@dataclass(frozen=True)
class Measurement:
    """Metrics and series of a probe or a cell, by name; `metadata` says how they were measured (JSON values)."""

    metrics: Mapping[str, Metric] = field(default_factory=dict)
    series: Mapping[str, Series] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def merged(self, other: "Measurement") -> "Measurement":
        """Returns this measurement and another as one.

        Raises:
            ValueError: both have a metric or a series of the same name.
        """
        for mine, theirs in ((self.metrics, other.metrics), (self.series, other.series)):
            if shared := mine.keys() & theirs.keys():
                raise ValueError(f"measured twice: {', '.join(sorted(shared))}")
        return Measurement(
            {**self.metrics, **other.metrics},
            {**self.series, **other.series},
            {**self.metadata, **other.metadata},
        )


@dataclass(frozen=True)
class Certificate:
    """The fidelity certificate: whether the testbed did what it should while a cell was measured.

    As text it is a paragraph; `found` is the evidence for the verdict, as measured, not as requested (JSON values).
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    found: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        """Returns the verdict with its reasons, and what it is about."""
        links, load_s = self.found.get("links"), self.found.get("load_s")
        about = [f"{self.found.get('clock', Clock.REAL)} clock"]
        if isinstance(links, Mapping):
            about.append(counted(len(links), "link"))
        if isinstance(load_s, int | float):
            about.append(f"{load_s:.1f} s of load")
        return (
            f"{self.verdict}: {'; '.join(self.reasons) or 'links and machine did what was asked'} ({', '.join(about)})"
        )


@dataclass(frozen=True)
class Cell:
    """One point of a plan: the parameters of a measurement, and the number of its repetition (from 1)."""

    parameters: Mapping[str, ParameterValue]
    repetition: int = 1

    @property
    def label(self) -> str:
        """A short text for progress lines and errors: `protocol=mptcp load=800 #2`."""
        words = [f"{name}={value}" for name, value in self.parameters.items()]
        return " ".join([*words, f"#{self.repetition}"])


@dataclass(frozen=True)
class CellResult:
    """A measured cell."""

    cell: Cell
    measurement: Measurement
    certificate: Certificate

    @property
    def clock(self) -> Clock:
        """Clock of the measurement, from the certificate; those of version 0.1.0 do not name the real clock."""
        return _clock(self.certificate.found.get("clock"))

    @property
    def scale(self) -> float:
        """Factor on the scenario's bandwidths and loads."""
        return _scale(self.certificate.found.get("scale"))


class ClaimVerdict(StrEnum):
    """Verdict on a claim; it is `not decided` if the result is too vague."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    NOT_DECIDED = "not decided"
    NOT_TESTED = "not tested here"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, or of the scenario itself, and its verdict.

    Attributes:
        paper: claimed value with its unit.
        measured: measured value with its interval and unit; empty if it was not tested.
        why: reason why it was not tested, or basis of the verdict.
    """

    claim: str
    paper: str
    measured: str
    verdict: ClaimVerdict
    why: str = ""


class RunStatus(StrEnum):
    """Status of a run; it stays `running` if the run is killed."""

    RUNNING = "running"
    DONE = "done"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class RunRecord:
    """One run, without its cells.

    Attributes:
        run_id: for example `20261121-101500-mptcp_load-ab12`; the time is UTC.
        plan: planned parameters, seed, repeats and form, `quick` or `full` (JSON values).
        command: arguments that started it, and repeat it.
        environment: kernel, versions and host (JSON values).
        started_at, ended_at: UTC; without an end while it runs, or if it was killed.
    """

    run_id: str
    scenario: str
    plan: Mapping[str, Any]
    command: tuple[str, ...]
    environment: Mapping[str, Any]
    started_at: datetime
    ended_at: datetime | None
    status: RunStatus

    @property
    def clock(self) -> Clock:
        """Clock of its cells, from the plan; by default the real one."""
        return _clock(self.setting("clock"))

    @property
    def scale(self) -> float:
        """Factor on the scenario's bandwidths and loads, from the plan."""
        return _scale(self.setting("scale"))

    @property
    def conditions(self) -> dict[str, Any]:
        """Fields of the plan that shape a measurement; the others choose the cells, their order and what is shown."""
        return {name: value for name, value in self.plan.items() if name not in _SELECTION}

    def setting(self, name: str) -> Any:
        """Returns a field or setting of the plan; None if it has neither. In version 0.1.0 the clock was a setting."""
        settings = self.plan.get("settings")
        stored = self.plan.get(name)
        return settings.get(name) if stored is None and isinstance(settings, Mapping) else stored


Run = tuple[RunRecord, Sequence[CellResult]]
"""A run and its cells."""

_SELECTION = ("form", "axes", "repeat", "seed", "only", "headlines", "question")


def _clock(stored: object) -> Clock:
    return Clock.VIRTUAL if stored == Clock.VIRTUAL else Clock.REAL


def _scale(stored: object) -> float:
    return float(stored) if isinstance(stored, int | float) and not isinstance(stored, bool) else 1.0
