"""The measurement as a whole: iterations over fresh connections, the route before, iperf3 after, and nothing left."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from stat import S_ISREG

from paramiko import SFTPAttributes
from paramiko.ssh_exception import SSHException

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight import iperf3, route, sockets
from probes.preflight.aggregate import aggregate, intervals
from probes.preflight.download import Share
from probes.preflight.environment import environment
from probes.preflight.judge import judge
from probes.preflight.records import (
    EndedBy,
    IterationResult,
    Phases,
    PreflightResult,
    Route,
    StreamResult,
)
from probes.preflight.remote_folder import RemoteFolder
from probes.preflight.session import Access, Session, Sftp, for_streams
from probes.preflight.sinks import LocalFile
from probes.preflight.sockets import Address
from probes.preflight.spec import NULL_SINK, Connections, Direction, TransferSpec
from probes.preflight.stream import Job, Moved, Part
from probes.preflight.target import Target
from probes.preflight.upload import WriteRefused
from probes.preflight.workers import StreamProcesses

REPEATED_FILE_BYTES = 1024 * 1024 * 1024
"""Size of the file that is read or written over and over where no size was asked for."""

_NOTE_SPARSE = "the remote file was made for the measurement and lies on no disk: the far end's disk was not measured"
_NOTE_MPTCP = "MPTCP was asked for, but the far end (or something on the way) speaks TCP only"


@dataclass(frozen=True)
class Status:
    """How far a measurement is.

    Attributes:
        phase: what is going on, in words.
        iteration, iterations: which of how many; 0 before the first.
        bytes: moved so far in this iteration.
        total_bytes: of the iteration, if it has a size.
        elapsed_s, limit_s: of the iteration's transfer, and its limit if it has one.
    """

    phase: str
    iteration: int = 0
    iterations: int = 0
    bytes: int = 0
    total_bytes: int | None = None
    elapsed_s: float = 0.0
    limit_s: float | None = None


Tell = Callable[[Status], None]
Keep = Callable[[IterationResult], None]


@dataclass(frozen=True)
class _Plan:
    """What the streams are to do, in every iteration.

    Attributes:
        parts: one for each stream.
        file_bytes: of the remote file.
        total: bytes of an iteration; None if only time ends it.
        by_bytes: the byte limit is what ends it.
    """

    parts: tuple[Part, ...]
    file_bytes: int
    total: int | None
    by_bytes: bool


def measure(
    target: Target,
    spec: TransferSpec,
    *,
    access: Access | None = None,
    tell: Tell | None = None,
    keep: Keep | None = None,
) -> PreflightResult:
    """Measures the path to a target by transferring a file.

    Args:
        target: the far end.
        spec: what to transfer, and how.
        access: how the far end is met: unknown host keys, and whether somebody can be asked for a password.
        tell: gets the state of things several times a second.
        keep: gets each iteration as soon as it has ended.

    Returns:
        The result, whole; there is none of a measurement that failed.

    Raises:
        FlightpathError: it failed; the message says at what, and whether something was left at the far end.
    """
    started_at = _now()
    tell, access = tell or (lambda status: None), access or Access()
    tell(Status("looking up the name"))
    addresses = sockets.look_up(target.host, target.port, spec.family)
    tell(Status("connecting"))
    # What is set for the measured connections must not slow the one that prepares them.
    plain = dataclasses.replace(
        spec, send_buffer_bytes=None, receive_buffer_bytes=None, window_clamp_bytes=None, mss_bytes=None, mptcp=False
    )
    with contextlib.ExitStack() as stack:
        control = stack.enter_context(Session(target, addresses, plain, access))
        control.stay()
        reached = _reached(addresses, control)
        notes = [f"its host key was added to {control.added_to}"] if control.added_to else []
        looking = stack.enter_context(_looking(reached, spec))
        plan = stack.enter_context(_prepared(control, spec, tell, notes))
        tell(Status("tracing the route"))
        found_route, mtu = looking() if looking else (None, None)
        iterations = []
        for number in range(1, spec.iterations + 1):
            iterations.append(_iterate(number, target, spec, (reached,), for_streams(access, control), plan, tell))
            if keep is not None:
                keep(iterations[-1])
        if spec.mptcp and not all(each.connection.mptcp for every in iterations for each in every.streams):
            notes.append(_NOTE_MPTCP)
        beside = None
        if spec.iperf3_port is not None:
            tell(Status("the same with iperf3"))
            beside = iperf3.measure(reached, spec, iterations[-1].transfer_s)
        tell(Status("tidying up at the far end"))
    return PreflightResult(
        target=target,
        spec=spec,
        iterations=tuple(iterations),
        started_at=started_at,
        file_bytes=plan.file_bytes,
        route=found_route,
        path_mtu=mtu or iterations[-1].streams[0].connection.path_mtu,
        iperf3=beside,
        environment=environment(),
        notes=tuple(notes),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _reached(addresses: Sequence[Address], control: Session) -> Address:
    """The address that answered: all connections of a measurement go to the same."""
    host = control.connection.getpeername()[0]
    return next((each for each in addresses if each.host.partition("%")[0] == host.partition("%")[0]), addresses[0])


@contextmanager
def _looking(target: Address, spec: TransferSpec) -> Iterator[Callable[[], tuple[Route, int | None]] | None]:
    """Traces the route in the background; the block gets a function that waits for what was found."""
    if not spec.route:
        yield None
        return
    with ThreadPoolExecutor(2) as pool:
        way: Future[Route] = pool.submit(route.trace, target)
        mtu: Future[int | None] = pool.submit(route.path_mtu, target)
        yield lambda: (way.result(), mtu.result())


@contextmanager
def _prepared(control: Session, spec: TransferSpec, tell: Tell, notes: list[str]) -> Iterator[_Plan]:
    """What is to be done, with the remote files that it takes; adds what a reader must know to the notes."""
    sftp = control.open_sftp()
    if spec.remote_file is not None:
        yield _plan(spec, [spec.remote_file] * spec.streams, _size_of(sftp, spec.remote_file, spec))
        return
    tell(Status("making a temporary folder"))
    folder = RemoteFolder(sftp, spec.remote_folder)
    with _removed_at_any_rate(folder, control, notes):
        folder.make()
        notes += [f"removed {path}, left by an earlier measurement that was killed" for path in folder.removed]
        size = spec.size_bytes or min(REPEATED_FILE_BYTES, spec.byte_limit or REPEATED_FILE_BYTES)
        if spec.direction is Direction.UPLOAD:
            with _explained(folder):
                yield _plan(spec, [folder.file(number) for number in range(spec.streams)], size)
        else:
            notes += [_NOTE_SPARSE] if folder.make_file(0, size) else []
            yield _plan(spec, [folder.file(0)] * spec.streams, size)


@contextmanager
def _explained(folder: RemoteFolder) -> Iterator[None]:
    """A write that was refused is explained by the room that is left."""
    try:
        yield
    except WriteRefused as error:
        raise folder.refused(error.args[0]) from error


@contextmanager
def _removed_at_any_rate(folder: RemoteFolder, control: Session, notes: list[str]) -> Iterator[None]:
    """Removes the folder however the block ends; what cannot be removed is told with the error, or in the notes."""
    try:
        yield
    except BaseException as error:
        left = _try_to_remove(folder, control)
        if left and isinstance(error, FlightpathError):
            error.hint = "\n  ".join(filter(None, [error.hint, left.args[0], left.hint]))
        elif left:
            error.add_note(str(left))
        raise
    if left := _try_to_remove(folder, control):
        notes.append(f"{left.args[0]}: {left.hint}")


def _try_to_remove(folder: RemoteFolder, control: Session) -> FlightpathError | None:
    """Removes it over a session of its own, as the one that made it may have been interrupted; then over a new
    connection, as the old one may be broken."""
    if not folder.made:
        return None
    try:
        folder.remove(control.open_sftp())
    except FlightpathError:
        try:
            with control.again() as session:
                folder.remove(session.open_sftp())
        except FlightpathError as error:
            return folder.left(error)
    return None


def _size_of(sftp: Sftp, path: str, spec: TransferSpec) -> int:
    """The size of the remote file.

    Raises:
        MeasurementFailed: it is not there, no file, empty, or shorter than what was asked for.
    """
    try:
        found: SFTPAttributes = sftp.stat(path)
    except FileNotFoundError:
        raise MeasurementFailed(
            f"there is no file {path!r} at the far end", "a relative path begins where SFTP starts, usually the home"
        ) from None
    except (OSError, SSHException, EOFError) as error:
        raise MeasurementFailed(f"{path!r} at the far end cannot be looked at: {error}") from error
    if found.st_mode is not None and not S_ISREG(found.st_mode):
        raise MeasurementFailed(f"{path!r} at the far end is no regular file", "name a file")
    size = found.st_size or 0
    if size == 0:
        raise MeasurementFailed(
            f"{path!r} at the far end is empty (0 bytes): nothing can be measured with it",
            "name a larger file, or none: the probe then makes one",
        )
    if spec.size_bytes is not None and size < spec.size_bytes:
        raise MeasurementFailed(
            f"{path!r} at the far end has {size} bytes, less than the {spec.size_bytes} of --size",
            "leave --size out to transfer all of it",
        )
    return size


def _plan(spec: TransferSpec, paths: Sequence[str], file_bytes: int) -> _Plan:
    """Cuts the work into the streams' shares."""
    size = spec.size_bytes or file_bytes
    streams = spec.streams
    own_file = spec.direction is Direction.UPLOAD
    total = None if spec.fills_the_time else size * (streams if spec.whole_each else 1)
    by_bytes = spec.byte_limit is not None and (total is None or spec.byte_limit < total)
    wanted = spec.byte_limit if by_bytes else total
    parts = []
    for number in range(streams):
        begin, end = size * number // streams, size * (number + 1) // streams
        if spec.whole_each or spec.fills_the_time:
            begin, end = 0, size
        elif own_file:
            begin, end = 0, end - begin
        share = None if wanted is None else wanted * (number + 1) // streams - wanted * number // streams
        parts.append(Part(number, paths[number], Share(begin, end, share)))
    if any(part.share.total == 0 for part in parts):
        raise MeasurementFailed(
            f"{wanted} bytes are too few for {streams} streams", "use fewer streams or a larger size"
        )
    return _Plan(tuple(parts), file_bytes, wanted, by_bytes)


def _iterate(
    number: int,
    target: Target,
    spec: TransferSpec,
    addresses: tuple[Address, ...],
    access: Access,
    plan: _Plan,
    tell: Tell,
) -> IterationResult:
    started_at = _now()
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


def _result(number: int, started_at: str, spec: TransferSpec, plan: _Plan, moved: Sequence[Moved]) -> IterationResult:
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
