"""An SSH connection by OpenSSH's client, which knows every way in: proxies, second factors, certificates, tokens.

Its channels have a window of 2 MiB, so each stream moves at most that in a round trip. Each session is a connection of
its own that listens on a control socket, and each SFTP session a channel of it. The user's own such connections are
left alone.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from paramiko.ssh_exception import SSHException

from flightpath import libc
from flightpath.commands import end, require
from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from flightpath.terminal import visible
from probes.preflight import sockets
from probes.preflight.records import KernelSample, SocketFacts
from probes.preflight.spec import Direction, TransferSpec
from probes.preflight.ssh import host_keys
from probes.preflight.ssh.login import LoginRefused
from probes.preflight.ssh.openssh_log import OpenSshLog
from probes.preflight.ssh.piped_sftp import Pipe, PipedSftp
from probes.preflight.ssh.session import SharedConnection, SshAccess, SshSession, no_further_session, no_sftp
from probes.preflight.ssh.sftp import TRANSPORT_ERRORS, Sftp, reason
from probes.preflight.ssh.socket_folder import folder_of_sockets
from probes.preflight.target import Target

WINDOW_BYTES = 2 * 1024 * 1024
"""The window of a channel in OpenSSH (channels.h, CHAN_SES_WINDOW_DEFAULT)."""

_STEPS = 3
"""Steps of connecting, each of which has the time limit: TCP, key exchange, log-in."""

_ROUND_TRIPS = 5
_QUIET = (
    *("ControlPersist=no", "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no"),
    *("RemoteCommand=none", "RequestTTY=no", "Tunnel=no", "UpdateHostKeys=no", "LogLevel=DEBUG1"),
    *("ServerAliveInterval=15", "ServerAliveCountMax=3"),
)


class OpenSshSession(SshSession):
    """A connection by ssh(1).

    Without a terminal it asks nothing, unless the user has set SSH_ASKPASS_REQUIRE=force. A log-in that asked is not
    repeated: further sessions share its connection.
    """

    def __init__(self, target: Target, spec: TransferSpec, access: SshAccess) -> None:
        """Connects to the far end and logs in, or takes the connection that `access` shares."""
        super().__init__(target, spec, access)
        self.address = None
        self._pipes: list[Pipe] = []
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[str] | None = None
        self._folder = ""
        self._has_asked = False
        self._round_trip_s: float | None = None
        try:
            self.connection = access.shared or self._log_in()
            self.connect_s = self.connection.connect_s
            self.key_exchange_s = self.connection.key_exchange_s
            self.authentication_s = self.connection.authentication_s
            if access.expected_key not in (None, self.connection.host_key):
                raise host_keys.another(target, access.expected_key or "", self.connection.host_key)
            if not target.proxy:
                self._socket = _tcp_socket_of(self.connection.process)
        except BaseException:
            self.close()
            raise

    @override
    def close(self) -> None:
        for pipe in self._pipes:
            pipe.close()
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            end(self._process)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    @override
    def keep_alive(self, interval_s: int) -> None:
        pass  # ssh(1) does that

    @override
    def reconnected(self) -> "OpenSshSession":
        return OpenSshSession(self.target, self._spec, self.access_for_streams())

    @override
    def access_for_streams(self) -> SshAccess:
        shared = self.connection if self._has_asked else None
        return replace(self._access, ask=None, terminal=None, expected_key=self.connection.host_key, shared=shared)

    @override
    def open_sftp(self, window_bytes: int = WINDOW_BYTES) -> Sftp:
        options = ["-S", self.connection.control_path, "-o", "ControlMaster=no", "-o", "BatchMode=yes"]
        # It must fail rather than log in by itself if that connection is gone.
        alone = ["-o", "ProxyJump=none", "-o", "ProxyCommand=false"]
        pipe = Pipe([require("ssh"), "-F", "none", *options, *alone, "-s", "--", self.target.host, "sftp"])
        self._pipes.append(pipe)
        try:
            pipe.settimeout(self._spec.connect_limit_s)
            sftp = PipedSftp(pipe)
        except TRANSPORT_ERRORS as error:
            why = visible(pipe.complaint()) or reason(error)
            if "open refused" in why or "open failed" in why:
                raise no_further_session(self.target, why) from error
            raise no_sftp(self.target, why) from error
        if self._round_trip_s is None:
            self._round_trip_s = _fastest_answer(sftp)
        return sftp

    @override
    def consume(self, sftp: Sftp, consumer: Callable[[memoryview], None]) -> None:
        assert isinstance(sftp, PipedSftp)
        sftp.pipe.consume(consumer)

    @override
    def facts(self) -> SocketFacts:
        known, upload = self.connection, self._spec.direction is Direction.UPLOAD
        ssh = {"cipher": known.ciphers[1 if upload else 0], "server": known.server, "host_key": known.host_key}
        if self._socket is not None:
            with contextlib.suppress(OSError):  # closed; noticed elsewhere
                return sockets.facts_of(self._socket, **ssh)
        return SocketFacts(
            local=("", known.process),
            remote=(self.target.host, self.target.port),
            family=0,
            mptcp=False,
            congestion_control="",
            send_buffer_bytes=0,
            receive_buffer_bytes=0,
            mss_bytes=0,
            path_mtu=None,
            **ssh,
        )

    @override
    def sample(self) -> KernelSample | None:
        return sockets.sample(self._socket) if self._socket is not None else None

    @property
    @override
    def is_active(self) -> bool:
        return all(pipe.is_open for pipe in self._pipes)

    @property
    @override
    def failure(self) -> Exception | None:
        return None if self.is_active else SSHException("ssh(1) has ended it")

    @override
    def helper_used_s(self) -> tuple[float, float]:
        folder = Path(f"/proc/{self.connection.process}")
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            queued_ns = int((folder / "schedstat").read_text().split()[1])
        except (OSError, IndexError):
            return 0.0, 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), queued_ns / 1e9

    @property
    @override
    def round_trip_s(self) -> float | None:
        return self._round_trip_s

    def _log_in(self) -> SharedConnection:
        """Tries without a question; if that is refused, and somebody is there, ssh(1) asks."""
        forced = os.environ.get("SSH_ASKPASS_REQUIRE") == "force"
        try:
            return self._connect(may_ask=False)
        except LoginRefused:
            if self._access.terminal is None and not forced:
                raise
        self._has_asked = True
        with self._access.terminal() if self._access.terminal else contextlib.nullcontext():
            return self._connect(may_ask=True)

    def _connect(self, *, may_ask: bool) -> SharedConnection:
        self._folder = self._folder or tempfile.mkdtemp(prefix="ssh-", dir=folder_of_sockets())
        path, limit = Path(self._folder) / "control", self._spec.connect_limit_s
        settings = [
            *_QUIET,
            "ControlMaster=yes",
            f"ControlPath={path}",
            f"StrictHostKeyChecking={'accept-new' if self._access.accept_new_host_key else 'yes'}",
            f"BatchMode={'no' if may_ask else 'yes'}",
            f"Ciphers={self._spec.cipher}",
            f"ConnectTimeout={max(1, round(limit))}",
        ]
        on_terminal = may_ask and self._access.terminal is not None
        words = [each for setting in settings for each in ("-o", setting)]
        self._process = subprocess.Popen(
            [require("ssh"), *words, *self._access.ssh_options, "-N", "--", self.target.name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=not on_terminal,
            preexec_fn=partial(_end_with, os.getpid()),
        )
        assert self._process.stderr is not None
        log = OpenSshLog(self._process.stderr, print_line if on_terminal else None)
        deadline = None if on_terminal else time.monotonic() + _STEPS * limit
        while not (log.is_logged_in and path.exists()):
            if self._process.poll() is not None:
                log.join()
                raise log.error(self.target, self.target.proxy, could_ask=may_ask)
            if deadline is not None and time.monotonic() > deadline:
                raise MeasurementFailed(
                    f"{self.target}: no answer within {_STEPS * limit:g} s", "check the host, its proxy and the port"
                )
            time.sleep(0.01)
        if log.has_added_host_key:
            self.added_to = (*self.target.known_hosts_files, "known_hosts")[0]
        return SharedConnection(str(path), self._process.pid, log.server, log.host_key, log.ciphers, *log.phases())


def print_line(text: str) -> None:
    os.write(2, f"{visible(text)}\n".encode())


def _end_with(parent: int) -> None:
    """Has this process, before it becomes ssh(1), end with its parent; the probe itself handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    libc.request_signal_at_parents_end(signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def _fastest_answer(sftp: Sftp) -> float | None:
    """Returns the shortest time in which the far end answered a request, in seconds."""
    times = []
    with contextlib.suppress(*TRANSPORT_ERRORS):
        for _ in range(_ROUND_TRIPS):
            begun = time.monotonic()
            sftp.stat(".")
            times.append(time.monotonic() - begun)
    return min(times, default=None)


def _tcp_socket_of(process: int) -> socket.socket | None:
    """Returns a duplicate of a process's only TCP socket; None if this process may not have it (pidfd_getfd(2))."""
    with contextlib.suppress(OSError):
        for descriptor in libc.copies_of_sockets(process):
            copy = socket.socket(fileno=descriptor)
            if copy.family in (socket.AF_INET, socket.AF_INET6):
                return copy
            copy.close()
    return None
