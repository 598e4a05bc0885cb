"""One stream of an upload by SFTP: writes are sent ahead of confirmations, as far as the far end's window allows."""

import contextlib
import os
import threading
import time

from paramiko import SFTPFile
from paramiko.ssh_exception import SSHException

from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from probes.preflight.ssh.sftp import Sftp
from probes.preflight.transfer.sftp_stream import OK, Requests, SftpStream
from probes.preflight.transfer.stream import Part

_WRITE = 6


class WriteRefused(MeasurementFailed):
    """The far end refused a write."""


class Upload(SftpStream):
    """Writes random bytes to a part of a remote file, in a thread of its own."""

    def __init__(self, sftp: Sftp, file: SFTPFile, part: Part, requests: Requests) -> None:
        super().__init__(sftp, file, part, requests)
        self._payload = memoryview(os.urandom(self._request_size))
        self._room = threading.Condition()
        self._confirmed = 0

    @override
    def start(self) -> None:
        self.started_ns = time.monotonic_ns()
        threading.Thread(target=self._send_all, name="upload", daemon=True).start()

    @override
    def stop(self) -> None:
        super().stop()
        with self._room:
            self._room.notify_all()

    def _send_all(self) -> None:
        # If the connection breaks, whoever watches the transport notices.
        with contextlib.suppress(EOFError, OSError, SSHException):
            while (wanted := self._next_range(self._request_size)) and self._wait_for_room(wanted[1]):
                self._send(*wanted)

    def _wait_for_room(self, size: int) -> bool:
        """Waits until rate and unconfirmed bytes allow a write; returns False if the stream has ended meanwhile."""
        if self._rate_bps is not None:
            due_s = self.started_ns / 1e9 + self._requested * 8 / self._rate_bps - 0.01
            if self.ended.wait(max(0.0, due_s - time.monotonic_ns() / 1e9)):
                return False
        with self._room:
            while self._requested - size > self._confirmed and self._requested - self._confirmed > self._ahead:
                if self.ended.is_set():
                    return False
                self._room.wait(0.1)
        return not self.ended.is_set()

    def _send(self, offset: int, size: int) -> None:
        head = self._request(_WRITE, offset, size, payload=size)
        at = min(self._channel.out_max_packet_size - len(head), size)
        self._channel.sendall(head + self._payload[:at])
        while at < size:
            at += self._channel.send(self._payload[at:size])

    @override
    def _status(self, request: int, code: int, text: str) -> None:
        _offset, size = self._pending.pop(request, (0, 0))
        if code != OK:
            raise WriteRefused(
                f"a write was refused after {self.recorder.total} bytes of a stream ({text or f'status {code}'})"
            )
        if not self.ended.is_set():
            self._count(size)
        with self._room:
            self._confirmed += size
            self._room.notify()
