"""What is made ready at the far end, and cut into shares, before the first byte is measured; and taken away after."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from stat import S_ISREG

from paramiko import SFTPAttributes
from paramiko.ssh_exception import SSHException

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.measure.progress import Status, Tell
from probes.preflight.spec import Direction, TransferSpec
from probes.preflight.ssh.remote_folder import RemoteFolder
from probes.preflight.ssh.session import Session, Sftp
from probes.preflight.transfer.download import Share
from probes.preflight.transfer.stream import Part
from probes.preflight.transfer.upload import WriteRefused

REPEATED_FILE_BYTES = 1024 * 1024 * 1024
"""Size of the file that is read or written over and over where no size was asked for."""

_NOTE_SPARSE = "the remote file was made for the measurement and lies on no disk: the far end's disk was not measured"


@dataclass(frozen=True)
class Plan:
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


@contextmanager
def prepared(control: Session, spec: TransferSpec, tell: Tell, notes: list[str]) -> Iterator[Plan]:
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


def _plan(spec: TransferSpec, paths: Sequence[str], file_bytes: int) -> Plan:
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
    return Plan(tuple(parts), file_bytes, wanted, by_bytes)
