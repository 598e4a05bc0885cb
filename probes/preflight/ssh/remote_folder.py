"""A temporary folder at the far end for the files of a measurement.

It is removed when the measurement ends, however it ends. If the probe was killed, a later measurement removes it: its
name shows where it comes from, and only folders and files with such names are removed.
"""

import contextlib
import re
import secrets
import stat

from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.units import format_bytes
from probes.preflight.ssh.sftp import TRANSPORT_ERRORS, Sftp, reason

PREFIX = ".flightpath-preflight-"
STALE_AFTER_S = 24 * 3600
_FOLDER = re.compile(re.escape(PREFIX) + "[0-9a-f]{16}")
_FILE = re.compile(r"stream-[0-9]{2}")
_PIECE = 1024 * 1024


class RemoteFolder:
    """A temporary folder.

    Args:
        sftp: a session that is used for nothing else.
        parent: folder in which to make it; "" is the session's initial folder.

    Attributes:
        may_exist: whether it was made, or the answer to that request is unknown.
        removed: folders left by killed probes that were removed.
    """

    def __init__(self, sftp: Sftp, parent: str) -> None:
        self._sftp, self._parent = sftp, parent
        name = PREFIX + secrets.token_hex(8)
        self.path = f"{parent.rstrip('/') or '/'}/{name}".replace("//", "/") if parent else name
        self.may_exist = False
        self.removed: list[str] = []

    def make(self) -> None:
        """Makes it, and removes those that killed probes left more than a day ago."""
        where = self._parent or "the folder where the session starts"
        self.may_exist = True
        try:
            self._sftp.mkdir(self.path, 0o700)
        except TRANSPORT_ERRORS as error:
            self.may_exist = not isinstance(error, OSError)
            raise MeasurementFailed(
                f"no temporary folder can be made at the far end in {where}: {reason(error)}",
                "--remote-folder names another place; or name a REMOTE_FILE that exists",
            ) from error
        with contextlib.suppress(*TRANSPORT_ERRORS):  # they can stay; the next request reports what is wrong
            self._remove_stale()

    def file(self, number: int) -> str:
        return f"{self.path}/stream-{number:02d}"

    def make_file(self, number: int, size: int) -> bool:
        """Makes a file of `size` bytes; returns whether it is sparse, so that reading it needs no disk."""
        path = self.file(number)
        try:
            with self._sftp.open(path, "w") as file:
                with contextlib.suppress(OSError):
                    file.truncate(size)
                    if file.stat().st_size == size:
                        return True
                file.set_pipelined(True)
                for begin in range(0, size, _PIECE):
                    file.write(bytes(min(_PIECE, size - begin)))
            if self._sftp.stat(path).st_size == size:
                return False
            raise OSError("it came out shorter")
        except TRANSPORT_ERRORS as error:
            raise self.write_error(f"a file of {size} bytes cannot be made: {reason(error)}") from error

    def write_error(self, message: str) -> MeasurementFailed:
        """Returns the error for a write that failed, with the free space on the disk."""
        free = None
        with contextlib.suppress(*TRANSPORT_ERRORS):
            free = self._sftp.free_bytes(self.path)
        room = "" if free is None else f"; its disk has {format_bytes(free)} left"
        full = free is not None and free < _PIECE
        return MeasurementFailed(
            f"the far end's disk is full: {message}{room}" if full else f"the far end cannot write: {message}{room}",
            "--remote-folder names another place, --size a smaller file",
        )

    def remove(self, sftp: Sftp) -> None:
        """Removes it and its files, over another session."""
        try:
            _remove(sftp, self.path)
        except FileNotFoundError:
            return
        except TRANSPORT_ERRORS as error:
            raise FlightpathError(reason(error)) from error

    def _remove_stale(self) -> None:
        now = self._sftp.stat(self.path).st_mtime or 0  # by the far end's clock
        prefix = self.path.removesuffix(self.path.rpartition("/")[2])
        for entry in self._sftp.first_entries(self._parent or "."):
            path = prefix + entry.filename
            if path != self.path and _FOLDER.fullmatch(entry.filename) and stat.S_ISDIR(entry.st_mode or 0):
                with contextlib.suppress(OSError):
                    newest = max(
                        [entry.st_mtime or 0, *(each.st_mtime or 0 for each in self._sftp.first_entries(path))]
                    )
                    if now - newest > STALE_AFTER_S:
                        _remove(self._sftp, path)
                        self.removed.append(path)


def _remove(sftp: Sftp, path: str) -> None:
    """Removes a probe's folder; the far end refuses if it contains anything that no probe made."""
    for entry in sftp.first_entries(path):
        if _FILE.fullmatch(entry.filename) and stat.S_ISREG(entry.st_mode or 0):
            sftp.remove(f"{path}/{entry.filename}")
    sftp.rmdir(path)
