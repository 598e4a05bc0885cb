"""A temporary folder at the far end: without it a measurement would need a file there, or leave one behind.

It is removed when the measurement ends, however it ends. If the probe itself is killed, the next one removes it: the
name says whose it is, and nothing is removed that does not look exactly like what a probe has made.
"""

import contextlib
import re
import secrets
import stat

from paramiko import SFTPAttributes
from paramiko.sftp import SFTPError
from paramiko.ssh_exception import SSHException

from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.units import format_bytes
from probes.preflight.ssh.session import Sftp

PREFIX = ".flightpath-preflight-"
STALE_AFTER_S = 24 * 3600
_FOLDER = re.compile(re.escape(PREFIX) + "[0-9a-f]{16}")
_FILE = re.compile(r"stream-[0-9]{2}")
_PIECE = 1024 * 1024


class RemoteFolder:
    """A folder of our own at the far end.

    Args:
        sftp: a session that has nothing else to do.
        parent: where to make it; "" is where the session starts.

    Attributes:
        path: of the folder.
        made: whether it may be there.
        removed: folders of probes that were killed, which were removed on the way.
    """

    def __init__(self, sftp: Sftp, parent: str) -> None:
        self._sftp, self._parent = sftp, parent
        name = PREFIX + secrets.token_hex(8)
        self.path = f"{parent.rstrip('/') or '/'}/{name}".replace("//", "/") if parent else name
        self.made = False
        self.removed: list[str] = []

    def make(self) -> None:
        """Makes it, then removes those that killed probes have left more than a day ago.

        Raises:
            MeasurementFailed: it cannot be made.
        """
        where = self._parent or "the folder where the session starts"
        self.made = True  # from here on: an answer that never came may have meant yes
        try:
            self._sftp.mkdir(self.path, 0o700)
        except (OSError, EOFError, SSHException, SFTPError) as error:
            self.made = not isinstance(error, OSError)
            raise MeasurementFailed(
                f"no temporary folder can be made at the far end in {where}: {error}",
                "--remote-folder names another place; or name a REMOTE_FILE that is there",
            ) from error
        self._remove_stale()

    def file(self, number: int) -> str:
        """The path of a stream's file in it."""
        return f"{self.path}/stream-{number:02d}"

    def make_file(self, number: int, size: int) -> bool:
        """Makes a file of so many bytes; returns whether it is one that takes no space on the disk.

        Raises:
            MeasurementFailed: it cannot be made.
        """
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
        except (OSError, EOFError, SSHException, SFTPError) as error:
            raise self.refused(f"a file of {size} bytes cannot be made: {error or 'the connection was cut'}") from error

    def refused(self, said: str) -> MeasurementFailed:
        """The error for a write that failed, with how much room there is."""
        free = None
        with contextlib.suppress(OSError, EOFError, SSHException, SFTPError):
            free = self._sftp.free_bytes(self.path)
        room = "" if free is None else f"; its disk has {format_bytes(free)} left"
        full = free is not None and free < _PIECE
        return MeasurementFailed(
            f"the far end's disk is full: {said}{room}" if full else f"the far end cannot write: {said}{room}",
            "--remote-folder names another place, --size a smaller file",
        )

    def remove(self, sftp: Sftp) -> None:
        """Removes it with what the probe has put there.

        Raises:
            FlightpathError: something is left.
        """
        try:
            _remove(sftp, self.path)
        except FileNotFoundError:
            return
        except (OSError, EOFError, SSHException, SFTPError) as error:
            raise FlightpathError(str(error) or "the connection was cut") from error

    def left(self, error: FlightpathError) -> FlightpathError:
        """The error for a folder that could not be removed."""
        return FlightpathError(
            f"the temporary folder {self.path!r} is left at the far end ({error.args[0]})",
            "the next measurement removes it, a day from now",
        )

    def _remove_stale(self) -> None:
        """Removes the folders of killed probes. The far end's own clock tells the age: ours may be wrong."""
        now = self._sftp.stat(self.path).st_mtime or 0
        prefix = self.path.removesuffix(self.path.rpartition("/")[2])
        for entry in self._sftp.listdir_attr(self._parent or "."):
            path = prefix + entry.filename
            if path != self.path and _FOLDER.fullmatch(entry.filename) and _is_folder(entry):
                with contextlib.suppress(OSError):
                    newest = max([entry.st_mtime or 0, *(each.st_mtime or 0 for each in self._sftp.listdir_attr(path))])
                    if now - newest > STALE_AFTER_S:
                        _remove(self._sftp, path)
                        self.removed.append(path)


def _remove(sftp: Sftp, path: str) -> None:
    """Removes a folder of a probe's; what no probe has put there makes the far end refuse."""
    for entry in sftp.listdir_attr(path):
        if _FILE.fullmatch(entry.filename) and stat.S_ISREG(entry.st_mode or 0):
            sftp.remove(f"{path}/{entry.filename}")
    sftp.rmdir(path)


def _is_folder(entry: SFTPAttributes) -> bool:
    return stat.S_ISDIR(entry.st_mode or 0)
