"""One SSH connection, timed phase by phase: without that, key exchange would be counted as transfer."""

import contextlib
import logging
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from paramiko import ChannelException, PKey, SFTPClient, Transport
from paramiko.sftp import CMD_EXTENDED, CMD_EXTENDED_REPLY, SFTPError
from paramiko.ssh_exception import IncompatiblePeer, SSHException

from flightpath import tcp_info
from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from probes.preflight.records import SocketFacts
from probes.preflight.spec import Direction, TransferSpec
from probes.preflight.ssh import host_keys, sockets
from probes.preflight.ssh.login import Ask, Credential, Login
from probes.preflight.ssh.sockets import Address
from probes.preflight.ssh.target import Target
from probes.preflight.ssh.wire import MAX_PACKET_BYTES, BulkPacketizer

_COMMON_REQUEST = 32 * 1024
_KEEPALIVE_S = 15


@dataclass(frozen=True)
class Access:
    """How the far end is met.

    Attributes:
        accept_new_host_key: a host of which nothing is known is accepted, and its key kept in known_hosts.
        hash_names: new hosts are kept there in a form that does not show their names.
        ask: for passphrases and passwords; None never asks.
        expected_key: SHA-256 fingerprint of the host key that an earlier connection has checked; instead of looking it
            up again.
        credential: what an earlier connection has found; instead of trying.
    """

    accept_new_host_key: bool = False
    hash_names: bool = False
    ask: Ask | None = None
    expected_key: str | None = None
    credential: Credential | None = None


@dataclass(frozen=True)
class Limits:
    """What one SFTP request may carry, in bytes."""

    read: int
    write: int


class Sftp(SFTPClient):
    """paramiko's SFTP with two of OpenSSH's extensions (PROTOCOL, sections 4.6 and 4.8)."""

    def limits(self) -> Limits:
        """What the far end serves in one request; without the extension, what every server does."""
        try:
            kind, message = self._request(CMD_EXTENDED, "limits@openssh.com")
        except (OSError, SFTPError):
            return Limits(_COMMON_REQUEST, _COMMON_REQUEST)
        if kind != CMD_EXTENDED_REPLY:
            return Limits(_COMMON_REQUEST, _COMMON_REQUEST)
        _packet, read, write, _handles = (message.get_int64() for _ in range(4))
        return Limits(read or _COMMON_REQUEST, write or _COMMON_REQUEST)

    def free_bytes(self, folder: str) -> int | None:
        """How much its user may still write there; None if the far end does not tell."""
        try:
            kind, message = self._request(CMD_EXTENDED, "statvfs@openssh.com", folder or ".")
        except (OSError, SFTPError):
            return None
        if kind != CMD_EXTENDED_REPLY:
            return None
        told = [message.get_int64() for _ in range(5)]
        return told[1] * told[4]


class Session:
    """A connection to a target that has logged in. A context manager: leaving it closes the connection at once.

    Attributes:
        transport: paramiko's.
        connection: the socket.
        packetizer: its fast packet layer.
        connect_s, key_exchange_s, authentication_s: as `records.Phases`.
        host_key: the far end's key.
        credential: what it accepted.
        added_to: the file to which its key was added; "" if it was known.
    """

    def __init__(self, target: Target, addresses: Sequence[Address], spec: TransferSpec, access: Access) -> None:
        """Connects.

        Raises:
            HostKeyRefused: the host's key is unknown, changed or revoked.
            LoginRefused: nobody was let in.
            MeasurementFailed: it does not answer, or not as an SSH server, or has not the cipher.
        """
        logging.getLogger("paramiko").propagate = False  # it tells of every error before it raises it
        logging.getLogger("paramiko").addHandler(logging.NullHandler())
        self.target, self._spec = target, spec
        self._addresses, self._access = tuple(addresses), access
        self.added_to = ""
        self.connection, self.connect_s = sockets.connect(addresses, spec)
        try:
            self.transport = Transport(self.connection, packetizer_class=BulkPacketizer)
            self._start(access)
        except BaseException:
            with contextlib.suppress(AttributeError):
                self.transport.close()
            self.connection.close()
            raise

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; the far end forgets its open files."""
        self.transport.close()

    @property
    def packetizer(self) -> BulkPacketizer:
        """The fast packet layer."""
        return self.transport.packetizer

    def again(self) -> "Session":
        """Another connection to the same machine, for one that is broken; nothing is looked up, tried or asked."""
        return Session(self.target, self._addresses, self._spec, for_streams(self._access, self))

    def stay(self) -> None:
        """Sends a sign of life now and then, for a connection that waits."""
        self.transport.set_keepalive(_KEEPALIVE_S)

    def open_sftp(self, window_bytes: int = 2**21) -> Sftp:
        """An SFTP session on a channel of its own.

        Raises:
            MeasurementFailed: the far end has none to offer.
        """
        limit = self._spec.connect_limit_s
        try:
            channel = self.transport.open_session(window_bytes, min(MAX_PACKET_BYTES, window_bytes), limit)
            channel.settimeout(limit)
            channel.invoke_subsystem("sftp")
            return Sftp(channel)
        except ChannelException as error:
            raise MeasurementFailed(
                f"{self.target.host} opens no further session on this connection: {error.text}",
                "its sshd_config may limit them (MaxSessions): use fewer streams, or a connection for each",
            ) from error
        except (SSHException, SFTPError, EOFError, OSError) as error:
            raise MeasurementFailed(
                f"{self.target.host} offers no SFTP: {error or 'it closed the session'}",
                "does `sftp` work? What the log-in prints (~/.bashrc) also breaks it",
            ) from error

    def facts(self) -> SocketFacts:
        """The connection as found."""
        made, info = self.connection, tcp_info.read(self.connection)
        local, remote = made.getsockname(), made.getpeername()
        upload = self._spec.direction is Direction.UPLOAD
        return SocketFacts(
            local=(local[0], local[1]),
            remote=(remote[0], remote[1]),
            family=6 if made.family == socket.AF_INET6 else 4,
            mptcp=tcp_info.subflows(made) > 0,
            congestion_control=sockets.congestion_control(made),
            send_buffer_bytes=made.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
            receive_buffer_bytes=made.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
            mss_bytes=info.sent_mss,
            path_mtu=sockets.path_mtu(made),
            cipher=self.transport.local_cipher if upload else self.transport.remote_cipher,
            server=self.transport.remote_version,
            host_key=self.host_key.fingerprint,
        )

    def _start(self, access: Access) -> None:
        known = [] if access.expected_key else host_keys.look_up(self.target)
        self._choose_algorithms(known)
        begun = time.monotonic()
        self._exchange_keys()
        self.key_exchange_s = time.monotonic() - begun
        self._check_host_key(access, known)
        begun = time.monotonic()
        self.credential = self._log_in(access)
        self.authentication_s = time.monotonic() - begun

    def _choose_algorithms(self, known: list[host_keys.KnownKey]) -> None:
        options = self.transport.get_security_options()
        try:
            options.ciphers = [self._spec.cipher]
        except ValueError:
            raise UsageError(
                f"--cipher: {self._spec.cipher!r} is not among those that paramiko has",
                f"choose one of {', '.join(options.ciphers)}",
            ) from None
        options.key_types = host_keys.preferred_types(known, tuple(options.key_types))
        limit = self._spec.connect_limit_s
        self.transport.banner_timeout = self.transport.handshake_timeout = self.transport.auth_timeout = limit

    def _exchange_keys(self) -> None:
        where = f"{self.connection.getpeername()[0]} port {self.target.port}"
        try:
            self.transport.start_client(timeout=self._spec.connect_limit_s)
            self.host_key: PKey = self.transport.get_remote_server_key()
        except IncompatiblePeer as error:
            raise MeasurementFailed(
                f"{where}: no agreement on how to encrypt: {error}", "--cipher names another, for example aes128-ctr"
            ) from error
        except (SSHException, EOFError, OSError) as error:
            if "banner" in str(error):
                raise MeasurementFailed(
                    f"{where} answers, but not as an SSH server", "is it the right port?"
                ) from error
            raise MeasurementFailed(f"{where}: the key exchange failed: {error or 'it hung up'}") from error

    def _check_host_key(self, access: Access, known: list[host_keys.KnownKey]) -> None:
        if access.expected_key is not None:
            if self.host_key.fingerprint != access.expected_key:
                raise host_keys.HostKeyRefused(
                    f"{self.target.host}: two connections got different host keys: "
                    f"{access.expected_key} and {self.host_key.fingerprint}",
                    "several machines may share the name: measure one of them by its address",
                )
            return
        if host_keys.check(self.target, self.host_key, known):
            return
        if not access.accept_new_host_key:
            raise host_keys.unknown(self.target, self.host_key)
        self.added_to = host_keys.add(self.target, self.host_key, hash_name=access.hash_names)

    def _log_in(self, access: Access) -> Credential:
        login = Login(self.transport, self.target, access.ask)
        try:
            if access.credential is None:
                return login.find()
            login.use(access.credential)
            return access.credential
        except FlightpathError:
            raise
        except (SSHException, EOFError, OSError) as error:
            raise MeasurementFailed(f"{self.target}: the log-in failed: {error or 'the far end hung up'}") from error


def for_streams(access: Access, control: Session) -> Access:
    """How further connections meet the same machine: nothing is looked up, tried or asked again."""
    return replace(access, ask=None, expected_key=control.host_key.fingerprint, credential=control.credential)
