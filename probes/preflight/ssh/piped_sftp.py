"""An SFTP session over a pair of pipes to ssh(1)."""

import contextlib
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence

from flightpath.commands import end
from flightpath.overrides import override
from probes.preflight.ssh.sftp import Sftp

_BUFFER_BYTES = 1024 * 1024
_AMPLE_BYTES = 2**31
_MAX_COMPLAINT_BYTES = 10_000


class Pipe:
    """The pipes of a program that speaks SFTP, with those methods of paramiko's channel that its client needs.

    Attributes:
        out_max_packet_size: largest piece to send at once, in bytes.
    """

    out_max_packet_size = _BUFFER_BYTES

    def __init__(self, argv: Sequence[str]) -> None:
        self._ours, theirs = socket.socketpair()
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (`close` closes it)
        with theirs:
            self._process = subprocess.Popen(
                argv, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=self._complaints, start_new_session=True
            )
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            self._ours.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
        self.is_open = True
        self.recv, self.send, self.sendall = self._ours.recv, self._ours.send, self._ours.sendall
        self.settimeout = self._ours.settimeout

    def close(self) -> None:
        self.is_open = False
        with contextlib.suppress(OSError):  # it is closed, or the program has ended
            self._ours.shutdown(socket.SHUT_RDWR)
        self._ours.close()
        end(self._process)
        self._complaints.close()

    def complaint(self) -> str:
        """Returns the last line that the program wrote to its stderr, which is closed then; "" without one."""
        end(self._process)
        self._complaints.seek(0)
        lines = self._complaints.read(_MAX_COMPLAINT_BYTES).decode(errors="replace").splitlines()
        return lines[-1].strip() if lines else ""

    def consume(self, consumer: Callable[[memoryview], None]) -> None:
        """Passes all that arrives to a consumer from now on, in a thread of its own."""
        threading.Thread(target=self._read_all, args=(consumer,), name="sftp", daemon=True).start()

    def _read_all(self, consumer: Callable[[memoryview], None]) -> None:
        buffer = memoryview(bytearray(_BUFFER_BYTES))
        with contextlib.suppress(OSError, EOFError):
            while self.is_open and (size := self._ours.recv_into(buffer)):
                consumer(buffer[:size])
        self.is_open = False


class PipedSftp(Sftp):
    """A client on such pipes; windows and key exchanges are the program's affair."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe
        super().__init__(pipe)

    @property
    @override
    def is_active(self) -> bool:
        return self.pipe.is_open

    @property
    @override
    def window_bytes(self) -> int:
        return _AMPLE_BYTES

    @property
    @override
    def may_send(self) -> Callable[[], bool]:
        return lambda: True

    @override
    def enlarge_window(self, size: int) -> None:
        pass

    @override
    def _log(self, *_: object) -> None:
        pass
