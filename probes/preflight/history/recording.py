"""Recording of measurements in the results store, and reading them back whole.

A measurement is a run of the scenario `preflight`, and each iteration a cell of it, so `python -m results` shows it as
well. The run's plan has the far end and the whole configuration; the document `preflight.json` is the whole
measurement without loss.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from probes.preflight.history.metrics import certificate_of, measurement_of
from probes.preflight.records import IterationResult, PreflightResult
from probes.preflight.spec import NO_INFLUENCE, TransferSpec
from probes.preflight.target import Target
from results.records import Cell, CellResult, ParameterValue, RunStatus
from results.store.location import StoreLocation
from results.store.store import Store

SCENARIO = "preflight"
DOCUMENT = "preflight.json"
_HEADLINES = ("goodput", "rtt_min", "rtt", "loss", "first_byte")
_HOP_SEPARATOR = " > "


def default_folder() -> Path:
    """Where a user's measurements are stored: `$XDG_DATA_HOME/flightpath`, or `~/.local/share/flightpath`.

    A relative `XDG_DATA_HOME` is ignored, as the XDG Base Directory Specification demands.
    """
    folder = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (folder if folder.is_absolute() else Path.home() / ".local" / "share") / "flightpath"


class Recording:
    """Stores a measurement while it is made: an iteration survives the end of this process as soon as it was added.

    Args:
        location: of the store, which is made if there is none.
        target, spec: what is measured.
        environment: of this machine (JSON values).
        command: the argument list that repeats it; this process's by default.

    Attributes:
        run_id: of the run; "" until it begins, at the latest with the first iteration.

    Raises:
        UsageError: the store cannot be used.
        StoreFailed: the store cannot be written.
    """

    def __init__(
        self,
        location: Path | StoreLocation,
        target: Target,
        spec: TransferSpec,
        *,
        environment: Mapping[str, Any] | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        self._store = Store.open(location)
        self._target, self._spec, self._environment = target, spec, environment or {}
        self._command = sys.orig_argv if command is None else command
        self._added: set[int] = set()
        self.run_id = ""

    def begin(self, started_at: str) -> None:
        """Begins the run, at a time in ISO 8601."""
        plan = {
            "host": self._target.name,
            "target": str(self._target),
            "configuration": asdict(self._spec),
            "headlines": list(_HEADLINES),
        }
        started = datetime.fromisoformat(started_at).astimezone()
        self.run_id = self._store.begin_run(SCENARIO, plan, self._environment, self._command, started)

    def add(self, iteration: IterationResult) -> None:
        """Stores an iteration that has ended."""
        if not self.run_id:
            self.begin(iteration.started_at)
        result = CellResult(
            Cell(parameters_of(self._target, self._spec), iteration.number),
            measurement_of(iteration, self._spec.direction),
            certificate_of(iteration),
        )
        self._store.record(self.run_id, result, iteration.number, datetime.fromisoformat(iteration.started_at))
        self._added.add(iteration.number)

    def finish(self, result: PreflightResult) -> None:
        """Stores what is missing: further iterations, the route, and the whole measurement."""
        if not self.run_id:
            self.begin(result.started_at)
        for iteration in result.iterations:
            if iteration.number not in self._added:
                self.add(iteration)
        self._store.keep_document(self.run_id, DOCUMENT, result.to_json())
        facts: dict[str, Any] = {"file_bytes": result.file_bytes}
        if result.route:
            facts["route"] = _HOP_SEPARATOR.join(hop.address or "*" for hop in result.route.hops)
        if result.path_mtu:
            facts["path_mtu"] = result.path_mtu
        self._store.finish_run(self.run_id, RunStatus.DONE, facts)

    def abort(self, status: RunStatus) -> None:
        """Ends the run, if it has begun, as failed or interrupted; the iterations stay."""
        if self.run_id:
            self._store.finish_run(self.run_id, status)


def store_result(result: PreflightResult, location: Path | StoreLocation, command: Sequence[str] | None = None) -> str:
    """Stores a whole measurement; returns the id of its run.

    Raises:
        UsageError: the store cannot be used.
        StoreFailed: the store cannot be written.
    """
    recording = Recording(location, result.target, result.spec, environment=result.environment, command=command)
    recording.finish(result)
    return recording.run_id


def load_result(store: Store, run: str) -> PreflightResult | None:
    """A whole measurement; None if it was cut short, so that only its iterations are stored.

    Raises:
        UsageError: there is no such run.
        FlightpathError: a newer version stored it.
    """
    text = store.document(run, DOCUMENT)
    return None if text is None else PreflightResult.from_json(text)


def parameters_of(target: Target, spec: TransferSpec) -> dict[str, ParameterValue]:
    """The columns of a table of results: host, direction, streams, and what differs from the default."""
    return {"host": target.name, "direction": spec.direction, "streams": spec.streams, **unusual(asdict(spec))}


def unusual(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with an influence that differ from the default, besides direction and streams."""
    defaults = asdict(TransferSpec())
    return {
        name: value
        for name, value in configuration.items()
        if name not in ("direction", "streams", *NO_INFLUENCE) and value is not None and value != defaults.get(name)
    }


def route_changed(before: str, after: str) -> bool:
    """Whether two routes, as lines with `*` for silent routers, differ in one that answered both times."""
    pairs = zip(before.split(_HOP_SEPARATOR), after.split(_HOP_SEPARATOR), strict=False)
    return any(a != b and "*" not in (a, b) for a, b in pairs)
