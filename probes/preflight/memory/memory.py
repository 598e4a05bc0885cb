"""The retentive memory of preflight: without it every measurement would be forgotten before the next one.

A measurement is a run of the scenario `preflight` in the project's store, an iteration a cell of it, so `python -m
results` shows it as well. The plan has the far end and the whole configuration; the document `preflight.json` is the
whole measurement, lossless.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from probes.preflight import codec
from probes.preflight.memory.measurement import certificate_of, measurement_of
from probes.preflight.records import IterationResult, PreflightResult, Route
from probes.preflight.spec import TransferSpec
from probes.preflight.ssh.target import Target
from results.records import Cell, CellResult, ParameterValue, RunStatus
from results.store.location import StoreLocation
from results.store.store import Store

SCENARIO = "preflight"
DOCUMENT = "preflight.json"
HEADLINES = ("goodput", "rtt_min", "rtt", "loss", "first_byte")

NO_INFLUENCE = frozenset(
    {"iterations", "route", "iperf3_port", "interval_s", "stall_limit_s", "connect_limit_s", "remote_folder"}
)
"""Fields of a configuration that do not change what one iteration measures."""

_HOP_SEPARATOR = " > "


def default_folder() -> Path:
    """Where a user's measurements of real machines are kept: `$XDG_DATA_HOME/flightpath`, `~/.local/share/flightpath`.

    A relative `XDG_DATA_HOME` is ignored, as the XDG Base Directory Specification demands.
    """
    told = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (told if told.is_absolute() else Path.home() / ".local" / "share") / "flightpath"


class Recording:
    """One measurement while it is made: each iteration is on the disk when `add` returns, whatever happens then."""

    def __init__(self, store: Store, run_id: str, target: Target, spec: TransferSpec) -> None:
        self.run_id = run_id
        self._store, self._target, self._spec = store, target, spec
        self._kept: set[int] = set()

    @classmethod
    def begin(
        cls,
        place: Path | StoreLocation,
        target: Target,
        spec: TransferSpec,
        *,
        environment: Mapping[str, Any] | None = None,
        command: Sequence[str] | None = None,
        started_at: str | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> Self:
        """Records that a measurement begins.

        Args:
            place: where the store is, or is to be made.
            target: the far end.
            spec: what is to be measured.
            environment: this machine (JSON values).
            command: the argument list that repeats it; by default the one that this process was started with.
            started_at: ISO 8601; now by default.
            notify: told in a sentence when a damaged store was moved aside; prints on stderr by default.

        Raises:
            UsageError: the place cannot be used.
            StoreFailed: the store cannot be written.
        """
        store = Store.open(place, notify=notify)
        plan = {
            "host": target.name,
            "target": str(target),
            "configuration": codec.encode(spec),
            "headlines": list(HEADLINES),
        }
        run_id = store.begin_run(
            SCENARIO,
            plan,
            environment or {},
            sys.orig_argv if command is None else command,
            datetime.fromisoformat(started_at).astimezone() if started_at else None,
        )
        return cls(store, run_id, target, spec)

    def add(self, iteration: IterationResult) -> None:
        """Keeps an iteration that ended.

        Raises:
            StoreFailed: the store cannot be written.
        """
        result = CellResult(
            Cell(parameters_of(self._target, self._spec), iteration.number),
            measurement_of(iteration, self._spec.direction),
            certificate_of(iteration),
        )
        self._store.record(self.run_id, result, iteration.number, datetime.fromisoformat(iteration.started_at))
        self._kept.add(iteration.number)

    def finish(self, result: PreflightResult, status: RunStatus = RunStatus.DONE) -> None:
        """Keeps what is not kept yet: the other iterations, the route, and the whole measurement as it is.

        Raises:
            StoreFailed: the store cannot be written.
        """
        for iteration in result.iterations:
            if iteration.number not in self._kept:
                self.add(iteration)
        self._store.keep_document(self.run_id, DOCUMENT, result.to_json())
        found = {
            "file_bytes": result.file_bytes,
            **({"route": route_text(result.route)} if result.route else {}),
            **({"path_mtu": result.path_mtu} if result.path_mtu else {}),
        }
        self._store.finish_run(self.run_id, status, found)

    def give_up(self, status: RunStatus) -> None:
        """Records that no more comes: `failed` or `interrupted`; what was added stays."""
        self._store.finish_run(self.run_id, status)


def remember(result: PreflightResult, place: Path | StoreLocation, command: Sequence[str] | None = None) -> str:
    """Keeps a whole measurement in the store of a place, and returns the id of its run.

    Raises:
        UsageError: the place cannot be used.
        StoreFailed: the store cannot be written.
    """
    recording = Recording.begin(
        place,
        result.target,
        result.spec,
        environment=result.environment,
        command=command,
        started_at=result.started_at,
    )
    recording.finish(result)
    return recording.run_id


def recall(store: Store, run: str) -> PreflightResult | None:
    """A whole measurement as it was; None if it was cut short, and only its finished iterations are there.

    Raises:
        UsageError: there is no such run.
        FlightpathError: a newer version kept it.
    """
    text = store.document(run, DOCUMENT)
    return None if text is None else PreflightResult.from_json(text)


def parameters_of(target: Target, spec: TransferSpec) -> dict[str, ParameterValue]:
    """What a table shows of a configuration: host, direction and streams, and what was asked for besides."""
    told, usual = codec.encode(spec), codec.encode(TransferSpec())
    named = {"direction": told["direction"], "streams": told["streams"]}
    asked = {
        name: value
        for name, value in told.items()
        if name not in named and name not in NO_INFLUENCE and value is not None and value != usual[name]
    }
    return {"host": target.name, **named, **asked}


def route_text(route: Route) -> str:
    """The routers on the way in one line, `*` for each that did not answer."""
    return _HOP_SEPARATOR.join(hop.address or "*" for hop in route.hops)


def route_changed(before: str, after: str) -> bool:
    """Whether two routes differ in a router that answered both times; silence says nothing."""
    pairs = zip(before.split(_HOP_SEPARATOR), after.split(_HOP_SEPARATOR), strict=False)
    return any(a != b and "*" not in (a, b) for a, b in pairs)
