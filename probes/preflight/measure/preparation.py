"""Preparation at the far end: the files to transfer, and each stream's share of them; removed after the measurement."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from stat import S_ISREG

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.records import OnProgress, Status
from probes.preflight.spec import Direction, TransferSpec
from probes.preflight.ssh.remote_folder import RemoteFolder
from probes.preflight.ssh.session import Session
from probes.preflight.ssh.sftp import TRANSPORT_ERRORS, Sftp, reason
from probes.preflight.transfer.stream import Part
from probes.preflight.transfer.upload import WriteRefused

_REPEATED_FILE_BYTES = 1024 * 1024 * 1024
"""Size of the file that is transferred repeatedly if no size was given."""

_NOTE_SPARSE = "the remote file was made for the measurement and is sparse: the far end's disk was not measured"


@dataclass(frozen=True)
class Plan:
    """The files that the streams transfer in every iteration.

    Attributes:
        total: bytes of an iteration; None if only time ends it.
        by_bytes: whether the byte limit ends it.
    """

    parts: tuple[Part, ...]
    file_bytes: int
    total: int | None
    by_bytes: bool


@contextmanager
def prepare(control: Session, spec: TransferSpec, on_progress: OnProgress, notes: list[str]) -> Iterator[Plan]:
    """Makes the remote files that a transfer needs, and removes them after the block; adds notes for the reader."""
    sftp = control.open_sftp()
    if spec.remote_file is not None:
        yield _plan(spec, [spec.remote_file] * spec.streams, _size_of(sftp, spec.remote_file, spec))
        return
    on_progress(Status("making a temporary folder"))
    folder = RemoteFolder(sftp, spec.remote_folder)
    with _removed_afterwards(folder, control, notes):
        folder.make()
        notes += [f"removed {path}, left by an earlier measurement that was killed" for path in folder.removed]
        size = spec.size_bytes or min(_REPEATED_FILE_BYTES, spec.byte_limit or _REPEATED_FILE_BYTES)
        if spec.direction is Direction.UPLOAD:
            try:
                yield _plan(spec, [folder.file(number) for number in range(spec.streams)], size)
            except WriteRefused as error:
                raise folder.write_error(error.args[0]) from error
        else:
            notes += [_NOTE_SPARSE] if folder.make_file(0, size) else []
            yield _plan(spec, [folder.file(0)] * spec.streams, size)


@contextmanager
def _removed_afterwards(folder: RemoteFolder, control: Session, notes: list[str]) -> Iterator[None]:
    """Removes the folder however the block ends; if that fails, the error of the block or a note says so."""
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
    """Removes the folder over a new SFTP session, because the first may have been interrupted, or over a new
    connection, because the first may be broken."""
    if not folder.may_exist:
        return None
    try:
        folder.remove(control.open_sftp())
    except FlightpathError:
        try:
            with control.reconnected() as session:
                folder.remove(session.open_sftp())
        except FlightpathError as error:
            return FlightpathError(
                f"the temporary folder {folder.path!r} is left at the far end ({error.args[0]})",
                "a measurement that is made there a day from now or later removes it",
            )
    return None


def _size_of(sftp: Sftp, path: str, spec: TransferSpec) -> int:
    where = f"{path!r} at the far end"
    try:
        attributes = sftp.stat(path)
    except FileNotFoundError:
        raise MeasurementFailed(
            f"there is no file {where}", "a relative path begins where SFTP starts, usually the home"
        ) from None
    except TRANSPORT_ERRORS as error:
        raise MeasurementFailed(f"{where}: {reason(error)}") from error
    size = attributes.st_size or 0
    if attributes.st_mode is not None and not S_ISREG(attributes.st_mode):
        raise MeasurementFailed(f"{where} is no regular file", "name a file")
    if size == 0:
        raise MeasurementFailed(
            f"{where} is empty (0 bytes): there is nothing to transfer",
            "name a larger file, or none: the probe then makes one",
        )
    if spec.size_bytes is not None and size < spec.size_bytes:
        raise MeasurementFailed(
            f"{where} has {size} bytes, less than the {spec.size_bytes} of --size",
            "leave --size out to transfer all of it",
        )
    return size


def _plan(spec: TransferSpec, paths: Sequence[str], file_bytes: int) -> Plan:
    size, streams = spec.size_bytes or file_bytes, spec.streams
    total = None if spec.fills_the_time else size * (streams if spec.whole_each else 1)
    by_bytes = spec.byte_limit is not None and (total is None or spec.byte_limit < total)
    total = spec.byte_limit if by_bytes else total
    parts = []
    for number in range(streams):
        begin, end = size * number // streams, size * (number + 1) // streams
        if spec.whole_each or spec.fills_the_time:
            begin, end = 0, size
        elif spec.direction is Direction.UPLOAD:  # each stream has a file of its own
            begin, end = 0, end - begin
        share = None if total is None else total * (number + 1) // streams - total * number // streams
        parts.append(Part(number, paths[number], begin, end, share))
    if any(part.total == 0 for part in parts):
        raise MeasurementFailed(
            f"{total} bytes are too few for {streams} streams", "use fewer streams or a larger size"
        )
    return Plan(tuple(parts), file_bytes, total, by_bytes)
