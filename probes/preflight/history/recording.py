"""Recording of measurements in the results store, and reading them back whole.

A measurement is a run of the scenario `preflight`, and each iteration a cell of it, so `flightpath results` shows it as
well. The run's plan has the far end and the whole configuration; the document `preflight.json` is the whole
measurement without loss.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probes.preflight.records import IterationResult, KernelSample, LimitedBy, PreflightResult, StreamResult
from probes.preflight.spec import NO_INFLUENCE, Direction, TransferSpec
from probes.preflight.target import FarEnd
from results.records import (
    Cell,
    CellResult,
    Certificate,
    Measurement,
    Metric,
    ParameterValue,
    RunStatus,
    Series,
    Verdict,
)
from results.store.location import StoreLocation
from results.store.ownership import make_folder
from results.store.run_lock import LOCK_NAME

if TYPE_CHECKING:
    from results.store.store import Store

SCENARIO = "preflight"
DOCUMENT = "preflight.json"
_HEADLINES = ("goodput", "rtt_min", "rtt", "loss", "first_byte")
_HOP_SEPARATOR = " > "
_VERDICTS = {LimitedBy.OK: Verdict.FAITHFUL, LimitedBy.RATE_LIMITED: Verdict.DEGRADED}


def default_folder() -> Path:
    """Returns where a user's measurements are stored: `$XDG_DATA_HOME/flightpath`, or `~/.local/share/flightpath`.

    A relative `XDG_DATA_HOME` is ignored, as the XDG Base Directory Specification demands.
    """
    folder = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (folder if folder.is_absolute() else Path.home() / ".local" / "share") / "flightpath"


class Recording:
    """Stores a measurement while it is made: an iteration survives the end of this process as soon as it was added.

    Args:
        environment: environment of this machine (JSON values).
        profile: name under which the measurement's settings are pinned, if any.

    Attributes:
        run_id: ID of the run; "" until it begins, at the latest with the first iteration.
    """

    def __init__(
        self,
        location: Path | StoreLocation,
        target: FarEnd,
        spec: TransferSpec,
        *,
        environment: Mapping[str, Any] | None = None,
        profile: str = "",
    ) -> None:
        from results.store.run_store import RunStore, recover  # slow to load, and a measurement may not be stored

        folder = StoreLocation.of(location).folder
        if folder == default_folder():  # nobody else may read it: it tells whom the user visits
            with contextlib.suppress(OSError):  # `Store.open` says why it cannot be used
                make_folder(folder)
                folder.chmod(0o700)
        self._store = RunStore.open(location)
        recover(StoreLocation.of(location))
        self._target, self._spec, self._environment = target, spec, environment or {}
        self._profile = profile
        self._added: set[int] = set()
        self.run_id = ""

    def begin(self, started_at: str) -> None:
        """Begins the run, at a time in ISO 8601, and reserves space for it: nothing that is measured then is lost."""
        plan = {
            "host": self._target.name,
            "target": str(self._target),
            "configuration": self._spec.as_json(),
            "headlines": list(_HEADLINES),
            **({"profile": self._profile} if self._profile else {}),
        }
        started = datetime.fromisoformat(started_at).astimezone()
        self.run_id = self._store.begin_run(SCENARIO, plan, self._environment, sys.orig_argv, started)
        if not self._store.has_reserve(self.run_id):
            self.abort(RunStatus.FAILED)
            from results.store.backend import StoreFailed

            raise StoreFailed(
                f"the disk is full: {self._store.folder} has no room for a measurement",
                "free some space, name another folder (--results DIR), or measure without storing it (--forget)",
            )

    def add(self, iteration: IterationResult) -> None:
        """Stores an iteration that has ended."""
        if not self.run_id:
            self.begin(iteration.started_at)
        reasons = () if iteration.verdict is LimitedBy.OK else (f"{iteration.verdict}: {iteration.reason}",)
        result = CellResult(
            Cell(parameters_of(self._target, self._spec), iteration.number),
            measurement_of(iteration, self._spec.direction),
            Certificate(_VERDICTS.get(iteration.verdict, Verdict.UNUSABLE), reasons),
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
        self._end(RunStatus.DONE, facts)

    def abort(self, status: RunStatus, reason: str = "") -> None:
        """Ends the run, if it has begun, as failed or interrupted; the iterations stay.

        Without any it is forgotten, but that the measurement of a profile failed is a part of its history.
        """
        if reason and self._profile and not self.run_id:
            self.begin(datetime.now(UTC).isoformat())
        if self.run_id and not self._added and not (reason and self._profile):
            self._store.discard_run(self.run_id)
        elif self.run_id:
            self._end(status, {"error": reason} if reason else {})

    def _end(self, status: RunStatus, facts: Mapping[str, Any]) -> None:
        self._store.finish_run(self.run_id, status, facts)
        folder = self._store.folder / self.run_id
        with contextlib.suppress(OSError):  # it has files of somebody else's
            (folder / LOCK_NAME).unlink()
            folder.rmdir()


def load_result(store: Store, run: str) -> PreflightResult | None:
    """Returns a whole measurement; None if it was cut short, so that only its iterations are stored."""
    text = store.document(run, DOCUMENT)
    return None if text is None else PreflightResult.from_json(text)


def parameters_of(target: FarEnd, spec: TransferSpec) -> dict[str, ParameterValue]:
    """Returns the columns of a table of results: host, direction, streams, and what differs from the default."""
    return {"host": target.name, "direction": spec.direction, "streams": spec.streams, **unusual(asdict(spec))}


def unusual(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings with an influence that differ from the default, besides direction and streams."""
    defaults = asdict(TransferSpec())
    return {
        name: value
        for name, value in configuration.items()
        if name not in ("direction", "streams", *NO_INFLUENCE) and value is not None and value != defaults.get(name)
    }


def route_changed(before: str, after: str) -> bool:
    """Returns whether two routes, as lines with `*` for silent routers, differ in one that answered both times."""
    pairs = zip(before.split(_HOP_SEPARATOR), after.split(_HOP_SEPARATOR), strict=False)
    return any(a != b and "*" not in (a, b) for a, b in pairs)


def measurement_of(iteration: IterationResult, direction: Direction) -> Measurement:
    """Returns the metrics and series of an iteration; those of TCP are missing if only ssh(1) knows the connections.

    Metrics: `goodput` (bit/s; missing if everything came at once), `rtt` and `rtt_min` (ms: median and minimum of the
    kernel's samples of all streams), `mss`, `send_buffer`, `receive_buffer` (B, of one connection), the times of the
    phases (ms), `transfer` and `cpu` (s), `bytes` (B), `connections`, `subflows`. Of uploads also `retransmitted`
    (packets), `loss` (retransmitted packets as a share of all, %), and the share of the busy time in which the far
    end's window (`window_limited`) or this end's buffer (`send_buffer_limited`) held the transfer (%); of downloads
    `out_of_order` (packets received out of order as a share of all, %; one loss causes a window of them).

    Series: `goodput` of all streams (bit/s), and `rtt` (ms) and `window` (B) of the first.
    """
    streams = iteration.streams
    connections = list({stream.connection.local: stream for stream in streams}.values())
    last_samples = [stream.samples[-1] for stream in connections if stream.samples]
    packets = sum(stream.bytes / stream.connection.mss_bytes for stream in streams if stream.connection.mss_bytes)
    of_direction = _upload_metrics if direction is Direction.UPLOAD else _download_metrics
    metrics = {
        **({} if iteration.goodput_bps is None else {"goodput": Metric(iteration.goodput_bps, "bit/s")}),
        **_round_trips(connections, direction),
        **_socket_metrics(connections, last_samples),
        **(of_direction(last_samples, packets) if last_samples else {}),
        **{name.removesuffix("_s"): Metric(seconds * 1000, "ms") for name, seconds in vars(iteration.phases).items()},
        "transfer": Metric(iteration.transfer_s, "s"),
        "bytes": Metric(iteration.bytes, "B"),
        "cpu": Metric(iteration.cpu_s, "s"),
    }
    facts = {"limit": iteration.verdict, "reason": iteration.reason, "ended_by": iteration.ended_by}
    return Measurement(metrics, _series(iteration, direction), facts)


def limit_of(reasons: Sequence[str]) -> LimitedBy:
    """Returns the limit at the beginning of a certificate's reasons; an unknown one is this machine."""
    if not reasons:
        return LimitedBy.OK
    name = reasons[0].partition(":")[0]
    return LimitedBy(name) if name in set(LimitedBy) else LimitedBy.CLIENT_LIMITED


def _round_trips(connections: Sequence[StreamResult], direction: Direction) -> dict[str, Metric]:
    samples = [sample for stream in connections for sample in stream.samples]
    rtts = [rtt for sample in samples if (rtt := _rtt_ms(sample, direction)) > 0]
    least = [sample.least_rtt_ms for sample in samples if sample.least_rtt_ms > 0]
    metrics = {"rtt": Metric(statistics.median(rtts), "ms")} if rtts else {}
    return metrics | ({"rtt_min": Metric(min(least), "ms")} if least else {})


def _rtt_ms(sample: KernelSample, direction: Direction) -> float:
    """Returns the round-trip time of the direction with the data: acknowledgements hardly see a queue."""
    return sample.rtt_ms if direction is Direction.UPLOAD else sample.receive_rtt_ms


def _socket_metrics(connections: Sequence[StreamResult], last_samples: Sequence[KernelSample]) -> dict[str, Metric]:
    if not connections:
        return {}
    facts = [stream.connection for stream in connections]
    if not all(each.congestion_control for each in facts):  # ssh(1) has them
        return {"connections": Metric(len(facts), "1")}
    return {
        "mss": Metric(min(each.mss_bytes for each in facts), "B"),
        "send_buffer": Metric(min(each.send_buffer_bytes for each in facts), "B"),
        "receive_buffer": Metric(min(each.receive_buffer_bytes for each in facts), "B"),
        "connections": Metric(len(facts), "1"),
        "subflows": Metric(sum(sample.subflows for sample in last_samples), "1"),
    }


def _upload_metrics(samples: Sequence[KernelSample], packets: float) -> dict[str, Metric]:
    retransmitted = sum(sample.retransmitted_packets for sample in samples)
    metrics = {"retransmitted": Metric(retransmitted, "1")}
    if packets > 0:
        metrics["loss"] = _percent(retransmitted, packets + retransmitted)
    if busy_s := sum(sample.busy_s or 0 for sample in samples):
        metrics["window_limited"] = _percent(sum(sample.window_limited_s or 0 for sample in samples), busy_s)
        metrics["send_buffer_limited"] = _percent(sum(sample.send_buffer_limited_s or 0 for sample in samples), busy_s)
    return metrics


def _download_metrics(samples: Sequence[KernelSample], packets: float) -> dict[str, Metric]:
    counts = [sample.out_of_order_packets for sample in samples if sample.out_of_order_packets is not None]
    return {"out_of_order": _percent(sum(counts), packets)} if packets and counts else {}


def _percent(part: float, whole: float) -> Metric:
    return Metric(100 * min(1.0, part / whole), "%")


def _series(iteration: IterationResult, direction: Direction) -> dict[str, Series]:
    intervals = iteration.intervals
    starts = tuple(interval.start_s for interval in intervals)
    series = {"goodput": Series("bit/s", starts, tuple(interval.throughput_bps for interval in intervals))}
    samples = iteration.streams[0].samples if iteration.streams else ()
    if samples:
        upload, times = direction is Direction.UPLOAD, tuple(sample.at_s for sample in samples)
        windows = (each.cwnd_packets * each.mss_bytes if upload else each.receive_space_bytes for each in samples)
        series["rtt"] = Series("ms", times, tuple(_rtt_ms(sample, direction) for sample in samples))
        series["window"] = Series("B", times, tuple(map(float, windows)))
    return series
