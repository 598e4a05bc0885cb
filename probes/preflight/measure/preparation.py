"""Preparation at a far end with SFTP: the files to transfer, and each stream's share; removed after the measurement."""

from collections.abc import Iterator
from contextlib import contextmanager
from stat import S_ISREG

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.measure.plan import Plan, made_bytes, plan, removed_afterwards, require_size
from probes.preflight.records import OnProgress, Status
from probes.preflight.spec import Direction, TransferSpec
from probes.preflight.ssh.remote_folder import RemoteFolder
from probes.preflight.ssh.session import SshSession
from probes.preflight.ssh.sftp import TRANSPORT_ERRORS, Sftp, reason
from probes.preflight.transfer.upload import WriteRefused

_NOTE_SPARSE = "the remote file was made for the measurement and is sparse: the far end's disk was not measured"


@contextmanager
def prepare_files(control: SshSession, spec: TransferSpec, on_progress: OnProgress, notes: list[str]) -> Iterator[Plan]:
    """Makes the remote files that a transfer needs, and removes them after the block; adds notes for the reader."""
    sftp = control.open_sftp()
    if spec.remote_file is not None:
        yield plan(spec, [spec.remote_file] * spec.streams, _size_of(sftp, spec.remote_file, spec))
        return
    on_progress(Status("making a temporary folder"))
    folder = RemoteFolder(sftp, spec.remote_folder)
    with removed_afterwards(lambda: _try_to_remove(folder, control), notes):
        folder.make()
        notes += [f"removed {path}, left by an earlier measurement that was killed" for path in folder.removed]
        size = made_bytes(spec)
        if spec.direction is Direction.UPLOAD:
            try:
                yield plan(spec, [folder.file(number) for number in range(spec.streams)], size)
            except WriteRefused as error:
                raise folder.write_error(error.args[0]) from error
        else:
            notes += [_NOTE_SPARSE] if folder.make_file(0, size) else []
            yield plan(spec, [folder.file(0)] * spec.streams, size)


def _try_to_remove(folder: RemoteFolder, control: SshSession) -> FlightpathError | None:
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
    require_size(where, size, spec)
    return size
