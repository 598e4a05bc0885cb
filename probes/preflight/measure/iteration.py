"""One iteration: the file once over fresh connections, and what became of each stream put together."""

import contextlib
import dataclasses
import time
from collections.abc import Sequence

from flightpath.errors import MeasurementFailed
from probes.preflight.measure.aggregate import aggregate, intervals
from probes.preflight.measure.environment import now
from probes.preflight.measure.judge import judge
from probes.preflight.measure.preparation import Plan
from probes.preflight.measure.progress import Status, Tell
from probes.preflight.records import EndedBy, IterationResult, Phases, StreamResult
from probes.preflight.spec import NULL_SINK, Connections, TransferSpec
from probes.preflight.ssh.session import Access
from probes.preflight.ssh.sockets import Address
from probes.preflight.ssh.target import Target
from probes.preflight.transfer.sinks import LocalFile
from probes.preflight.transfer.stream import Job, Moved
from probes.preflight.transfer.workers import StreamProcesses


def iterate(
    number: int,
    target: Target,
    spec: TransferSpec,
    addresses: tuple[Address, ...],
    access: Access,
    plan: Plan,
    tell: Tell,
) -> IterationResult:
    """Transfers what is planned, once.

    Raises:
        FlightpathError: a stream failed, or got nothing.
    """
    started_at = now()
    with contextlib.ExitStack() as stack:
        sink = spec.sink
        local = None
        if sink != NULL_SINK:
            local = stack.enter_context(LocalFile(sink, spec.size_bytes or plan.file_bytes))
            sink = local.path
        groups = [plan.parts] if spec.connections is Connections.ONE else [(part,) for part in plan.parts]
        processes = stack.enter_context(
            StreamProcesses([Job(target, spec, addresses, access, parts, sink) for parts in groups])
        )
        shown = Status("connecting", number, spec.iterations, 0, plan.total, 0.0, spec.duration_limit_s)
        tell(shown)
        processes.connect()
        begun = time.monotonic()

        def moving(total: int) -> None:
            elapsed = time.monotonic() - begun
            tell(dataclasses.replace(shown, phase="transferring", bytes=total, elapsed_s=elapsed))

        moved = processes.transfer(moving)
        if local is not None:
            local.keep()
    return _result(number, started_at, spec, plan, moved)


def _result(number: int, started_at: str, spec: TransferSpec, plan: Plan, moved: Sequence[Moved]) -> IterationResult:
    courses = [each.course for each in moved if each.course is not None]
    if len(courses) < len(moved):
        raise MeasurementFailed(
            f"{len(moved) - len(courses)} of {len(moved)} streams got nothing before the time was over",
            "give it more time: --time",
        )
    together = aggregate(courses, spec.interval_s)
    streams = tuple(_stream_result(each, together.origin_ns, spec) for each in moved)
    verdict, reason = judge(spec, streams, together.goodput_bps)
    by_time = any(each.ended_by is EndedBy.TIME for each in moved)
    one = spec.connections is Connections.ONE
    return IterationResult(
        number=number,
        started_at=started_at,
        phases=_slowest([each.phases for each in moved]),
        bytes=sum(each.bytes for each in streams),
        transfer_s=together.transfer_s,
        overlap_s=together.overlap_s,
        goodput_bps=together.goodput_bps,
        intervals=together.intervals,
        streams=streams,
        cpu_s=sum(each.load.cpu_s for each in (streams[:1] if one else streams)),
        verdict=verdict,
        reason=reason,
        ended_by=EndedBy.TIME if by_time else EndedBy.BYTES if plan.by_bytes else EndedBy.SIZE,
    )


def _stream_result(moved: Moved, origin_ns: int, spec: TransferSpec) -> StreamResult:
    course = moved.course
    assert course is not None  # the caller has looked
    found = intervals([course], course.first_ns, course.last_ns, spec.interval_s)
    late = (course.first_ns - origin_ns) / 1e9
    return StreamResult(
        number=moved.number,
        bytes=course.total,
        started_s=late,
        transfer_s=(course.last_ns - course.first_ns) / 1e9,
        first_bytes=course.first_bytes,
        phases=moved.phases,
        intervals=tuple(dataclasses.replace(e, start_s=e.start_s + late, end_s=e.end_s + late) for e in found),
        samples=tuple(dataclasses.replace(sample, at_s=(at - origin_ns) / 1e9) for at, sample in moved.samples),
        connection=moved.connection,
        load=moved.load,
    )


def _slowest(phases: Sequence[Phases]) -> Phases:
    names = [field.name for field in dataclasses.fields(Phases)]
    return Phases(**{name: max(getattr(each, name) for each in phases) for name in names})
