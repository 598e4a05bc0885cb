"""A whole measurement: preparation, route, iterations over fresh connections and their limits, iperf3, and clean-up."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Sequence

from flightpath.errors import MeasurementFailed
from flightpath.pools import ThreadPool
from flightpath.units import format_rate
from probes.preflight import sockets
from probes.preflight.measure import iperf3, route
from probes.preflight.measure.environment import environment, now
from probes.preflight.measure.plan import Plan
from probes.preflight.measure.preparation import prepare_files
from probes.preflight.measure.web_preparation import prepare_requests
from probes.preflight.records import (
    EndedBy,
    IterationResult,
    LimitedBy,
    OnProgress,
    Phases,
    PreflightResult,
    Status,
    StreamResult,
)
from probes.preflight.session import Access, Session
from probes.preflight.spec import NULL_SINK, Client, Connections, TransferSpec
from probes.preflight.ssh.openssh import WINDOW_BYTES
from probes.preflight.ssh.session import SshSession
from probes.preflight.target import FarEnd
from probes.preflight.transfer.curve import TransferCurve, aggregate, intervals
from probes.preflight.transfer.opening import open_session
from probes.preflight.transfer.pool import WorkerPool
from probes.preflight.transfer.sinks import local_file
from probes.preflight.transfer.worker import Job, StreamReport
from probes.preflight.web.session import WebSession

_KEEPALIVE_S = 15
_NOTE_MPTCP = "MPTCP was requested, but the far end (or something on the way) speaks TCP only"
_BUSY = 0.9
"""Fraction of the time from which a process is the limit by computing, waiting for a processor or its disk."""

_AT_RATE = 0.95

_NEAR_WINDOW = 0.7
"""Fraction of the rate of OpenSSH's window from which that is the limit: ramp and pauses account for the rest."""


def measure(
    target: FarEnd,
    spec: TransferSpec,
    access: Access,
    on_progress: OnProgress,
    on_iteration: Callable[[IterationResult], None] | None,
) -> PreflightResult:
    """Measures the path to a target by transferring a file.

    `on_progress` gets the status several times a second, and `on_iteration` each iteration as soon as it has ended.
    """
    started_at = now()
    on_progress(Status("looking up the name"))
    addresses = sockets.look_up(target.host, target.port, spec.family) if spec.client is Client.BUILT_IN else ()
    on_progress(Status("connecting"))
    with contextlib.ExitStack() as stack:
        # The connection that prepares the others must not be slowed down by their options.
        plain = dataclasses.replace(
            spec,
            send_buffer_bytes=None,
            receive_buffer_bytes=None,
            window_clamp_bytes=None,
            mss_bytes=None,
            mptcp=False,
        )
        control = stack.enter_context(open_session(target, addresses, plain, access))
        control.keep_alive(_KEEPALIVE_S)
        notes = [f"its host key was added to {control.added_to}"] if control.added_to else []
        pool = stack.enter_context(ThreadPool(2))
        address = control.address if spec.route else None
        trace = pool.submit(route.trace, address) if address else None
        path_mtu = pool.submit(route.path_mtu, address) if address else None
        plan = stack.enter_context(_prepare(control, spec, on_progress, notes))
        on_progress(Status("tracing the route"))
        traced_route = trace.result() if trace else None
        mtu = path_mtu.result() if path_mtu else None
        iterations = []
        for number in range(1, spec.iterations + 1):
            iterations.append(iterate(number, control, spec, plan, on_progress))
            if on_iteration is not None:
                on_iteration(iterations[-1])
        notes += _notes_on(control, spec) if isinstance(control, SshSession) else []
        if spec.mptcp and not all(stream.connection.mptcp for each in iterations for stream in each.streams):
            notes.append(_NOTE_MPTCP)
        by_iperf3 = None
        if spec.iperf3_port is not None and control.address is not None:
            on_progress(Status("measuring with iperf3"))
            by_iperf3 = iperf3.measure(control.address, spec, iterations[-1].transfer_s)
        on_progress(Status("cleaning up at the far end"))
    return PreflightResult(
        target=target,
        spec=spec,
        iterations=tuple(iterations),
        started_at=started_at,
        file_bytes=plan.file_bytes,
        route=traced_route,
        path_mtu=mtu or iterations[-1].streams[0].connection.path_mtu,
        iperf3=by_iperf3,
        environment=environment(),
        notes=tuple(notes),
    )


def _prepare(
    control: Session, spec: TransferSpec, on_progress: OnProgress, notes: list[str]
) -> contextlib.AbstractContextManager[Plan]:
    if isinstance(control, WebSession):
        return prepare_requests(control, spec, on_progress, notes)
    assert isinstance(control, SshSession)
    return prepare_files(control, spec, on_progress, notes)


def iterate(number: int, control: Session, spec: TransferSpec, plan: Plan, on_progress: OnProgress) -> IterationResult:
    """Transfers what is planned, once, over connections to the same machine."""
    started_at = now()
    with contextlib.ExitStack() as stack:
        sink = spec.sink
        if sink != NULL_SINK:
            sink = stack.enter_context(local_file(sink, spec.size_bytes or plan.file_bytes))
        groups = [plan.parts] if spec.connections is Connections.ONE else [(part,) for part in plan.parts]
        access = control.access_for_streams()
        addresses = (control.address,) if control.address else ()
        jobs = [Job(control.target, spec, addresses, access, parts, sink) for parts in groups]
        pool = stack.enter_context(WorkerPool(jobs))
        status = Status("connecting", number, spec.iterations, 0, plan.total, 0.0, spec.duration_limit_s)
        on_progress(status)
        pool.connect()
        begun = time.monotonic()

        def on_bytes(total: int) -> None:
            elapsed = time.monotonic() - begun
            on_progress(dataclasses.replace(status, phase="transferring", bytes=total, elapsed_s=elapsed))

        reports = pool.transfer(on_bytes)
    result = _result(number, started_at, spec, plan, reports)
    held = _held_by_window(result.streams, control.round_trip_s)
    if held and result.verdict is LimitedBy.OK:
        return dataclasses.replace(result, verdict=LimitedBy.CLIENT_LIMITED, reason=held)
    return result


def _held_by_window(streams: Sequence[StreamResult], round_trip_s: float | None) -> str:
    """Returns why OpenSSH's window is the limit of a stream, in words; "" if it is not, or there is none."""
    if not round_trip_s:
        return ""
    limit_bps = WINDOW_BYTES * 8 / round_trip_s
    fastest = max(streams, key=lambda stream: stream.goodput_bps or 0.0)
    if (fastest.goodput_bps or 0.0) < _NEAR_WINDOW * limit_bps:
        return ""
    return (
        f"OpenSSH moves at most 2 MiB per round trip ({round_trip_s * 1e3:.3g} ms), that is "
        f"{format_rate(limit_bps)} per stream, and stream {fastest.number} got {format_rate(fastest.goodput_bps or 0)}"
    )


def _notes_on(control: SshSession, spec: TransferSpec) -> list[str]:
    """Returns what a reader must know of a connection by OpenSSH's client: what it costs, and what is missing."""
    if spec.client is not Client.OPENSSH:
        return []
    notes = [f"reached by OpenSSH's client{f' ({control.target.proxy})' if control.target.proxy else ''}"]
    if control.round_trip_s:
        limit = format_rate(WINDOW_BYTES * 8 / control.round_trip_s)
        notes[0] += (
            f", which takes each stream at most 2 MiB per round trip: {limit} at {control.round_trip_s * 1e3:.3g} ms"
        )
    if control.access_for_streams().shared and spec.streams > 1:
        notes.append("all streams shared one connection, because each log-in asks a question")
    if spec.route or spec.iperf3_port is not None:
        missing = [name for name, wanted in (("route", spec.route), ("iperf3", spec.iperf3_port is not None)) if wanted]
        notes.append(f"not measured, because only ssh(1) knows the way: {' and '.join(missing)}")
    return notes


def _result(
    number: int, started_at: str, spec: TransferSpec, plan: Plan, reports: Sequence[StreamReport]
) -> IterationResult:
    curves = [report.curve for report in reports if report.curve is not None]
    if len(curves) < len(reports):
        raise MeasurementFailed(
            f"{len(reports) - len(curves)} of {len(reports)} streams moved nothing before the time was over",
            "allow more time: --time",
        )
    together = aggregate(curves, spec.interval_s)
    streams = tuple(
        _stream_result(report, curve, together.origin_ns, spec) for report, curve in zip(reports, curves, strict=True)
    )
    verdict, reason = limited_by(spec, streams, together.goodput_bps)
    by_time = any(report.ended_by is EndedBy.TIME for report in reports)
    processes = streams[:1] if spec.connections is Connections.ONE else streams
    return IterationResult(
        number=number,
        started_at=started_at,
        phases=_slowest([report.phases for report in reports]),
        bytes=sum(stream.bytes for stream in streams),
        transfer_s=together.transfer_s,
        overlap_s=together.overlap_s,
        goodput_bps=together.goodput_bps,
        intervals=together.intervals,
        streams=streams,
        cpu_s=sum(stream.load.cpu_s for stream in processes),
        verdict=verdict,
        reason=reason,
        ended_by=EndedBy.TIME if by_time else EndedBy.BYTES if plan.by_bytes else EndedBy.SIZE,
    )


def _stream_result(report: StreamReport, curve: TransferCurve, origin_ns: int, spec: TransferSpec) -> StreamResult:
    own = intervals([curve], curve.first_ns, curve.last_ns, spec.interval_s)
    late_s = (curve.first_ns - origin_ns) / 1e9
    return StreamResult(
        number=report.number,
        bytes=curve.total,
        started_s=late_s,
        transfer_s=(curve.last_ns - curve.first_ns) / 1e9,
        first_bytes=curve.first_bytes,
        phases=report.phases,
        intervals=tuple(
            dataclasses.replace(each, start_s=each.start_s + late_s, end_s=each.end_s + late_s) for each in own
        ),
        samples=tuple(dataclasses.replace(each, at_s=each.at_s - origin_ns / 1e9) for each in report.samples),
        connection=report.connection,
        load=report.load,
    )


def _slowest(phases: Sequence[Phases]) -> Phases:
    names = [field.name for field in dataclasses.fields(Phases)]
    return Phases(**{name: max(getattr(each, name) for each in phases) for name in names})


def limited_by(spec: TransferSpec, streams: Sequence[StreamResult], goodput_bps: float | None) -> tuple[LimitedBy, str]:
    """Returns the limit of an iteration, and the figures behind it in words.

    A stream's process computes, waits for a processor, waits for a disk, or waits for the network. If less than a tenth
    of the time is left for the network, a faster path would not have helped. Then the disk is the limit if it took more
    than the processor, the cipher if it took most of the processor time, and otherwise the client as a whole.
    """
    if not streams or goodput_bps is None:
        return LimitedBy.OK, "too little was transferred to judge"
    worst = max(streams, key=_busy_share)
    busy, load, who = _busy_share(worst), worst.load, f"the process of stream {worst.number}"
    if busy < _BUSY:
        if spec.rate_limit_bps is not None and goodput_bps >= _AT_RATE * spec.rate_limit_bps:
            return LimitedBy.RATE_LIMITED, "as fast as --rate allows"
        return LimitedBy.OK, f"the client was busy at most {busy:.0%} of the time"
    wall_s = load.cpu_s + load.queued_s + load.disk_s + load.network_s
    if load.disk_s > load.cpu_s + load.queued_s:
        return LimitedBy.DISK_LIMITED, f"{who} waited for the local disk {load.disk_s / wall_s:.0%} of the time"
    if load.cipher_s > 0.5 * load.cpu_s:
        return LimitedBy.CIPHER_LIMITED, f"{who} spent {load.cipher_s / wall_s:.0%} of the time in the cipher"
    used, queued = load.cpu_s / wall_s, load.queued_s / wall_s
    return LimitedBy.CLIENT_LIMITED, f"{who} computed {used:.0%} of the time and waited for a processor {queued:.0%}"


def _busy_share(stream: StreamResult) -> float:
    """Returns the share of the time in which the stream's process did not wait for the network."""
    load = stream.load
    busy_s = load.cpu_s + load.queued_s + load.disk_s
    return busy_s / (busy_s + load.network_s) if busy_s + load.network_s > 0 else 0.0
