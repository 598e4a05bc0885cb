"""An SSH connection to the far end, with the time that each of its phases took, and its SFTP sessions."""

import contextlib
import logging
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from paramiko import ChannelException, Message, PKey, SFTPAttributes, SFTPClient, Transport
from paramiko.sftp import CMD_ATTRS, CMD_CLOSE, CMD_EXTENDED, CMD_EXTENDED_REPLY, CMD_OPENDIR, CMD_READDIR, SFTPError
from paramiko.ssh_exception import IncompatiblePeer, SSHException

from flightpath import tcp_info
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.overrides import override
from probes.preflight.records import SocketFacts
from probes.preflight.spec import Direction, TransferSpec
from probes.preflight.ssh import host_keys, sockets, steady_clock
from probes.preflight.ssh.login import Ask, Credential, Login
from probes.preflight.ssh.packetizer import MAX_PACKET_BYTES, BulkPacketizer
from probes.preflight.ssh.sockets import Address
from probes.preflight.target import Target

steady_clock.use()

TRANSPORT_ERRORS = (OSError, EOFError, SSHException, SFTPError, UnicodeError)
"""Exceptions of paramiko if the far end refuses something or answers nonsense, or the connection breaks."""

_ATTRIBUTE_BYTES = {
    SFTPAttributes.FLAG_SIZE: 8,
    SFTPAttributes.FLAG_UIDGID: 8,
    SFTPAttributes.FLAG_PERMISSIONS: 4,
    SFTPAttributes.FLAG_AMTIME: 8,
}

MAX_ENTRIES, LISTING_LIMIT_S = 10_000, 10.0
"""Limits of listing a folder: number of entries, and seconds."""

_COMMON_REQUEST_BYTES = 32 * 1024


@dataclass(frozen=True)
class Access:
    """Verification of the host key, and log-in.

    Attributes:
        accept_new_host_key: accept the key of an unknown host, and add it to known_hosts.
        hash_names: hash the names that are added there.
        ask: callback that prompts for passphrases and passwords; None never prompts.
        revoked_keys_files: files of host keys that are refused.
        expected_key: fingerprint of the host key that an earlier connection has checked; replaces known_hosts.
    """

    accept_new_host_key: bool = False
    hash_names: bool = False
    ask: Ask | None = None
    revoked_keys_files: tuple[str, ...] = ()
    expected_key: str | None = None
    credential: Credential | None = None


class Sftp(SFTPClient):
    """paramiko's SFTP client with two of OpenSSH's extensions (its file PROTOCOL, sections 4.6 and 4.8)."""

    def limits(self) -> tuple[int, int]:
        """Returns the far end's largest reads and writes, in bytes; without the extension, the common minimum."""
        reply = self._extension("limits@openssh.com")
        if reply is None:
            return _COMMON_REQUEST_BYTES, _COMMON_REQUEST_BYTES
        _packet, read, write, _handles = (reply.get_int64() for _ in range(4))
        return read or _COMMON_REQUEST_BYTES, write or _COMMON_REQUEST_BYTES

    def free_bytes(self, folder: str) -> int | None:
        """Returns the free space for this user on the disk of a folder, in bytes; None without the extension."""
        reply = self._extension("statvfs@openssh.com", folder or ".")
        if reply is None:
            return None
        _block, fragment, _blocks, _free, available = (reply.get_int64() for _ in range(5))
        return fragment * available

    def first_entries(self, folder: str) -> list[SFTPAttributes]:
        """Lists a folder up to `MAX_ENTRIES` and a time limit, because a far end may never end.

        Raises:
            OSError, EOFError, SSHException, SFTPError: the folder cannot be listed.
        """
        entries: list[SFTPAttributes] = []
        deadline = time.monotonic() + LISTING_LIMIT_S
        _kind, reply = self._request(CMD_OPENDIR, folder)
        handle = reply.get_binary()
        while len(entries) < MAX_ENTRIES and time.monotonic() < deadline:
            try:
                _kind, reply = self._request(CMD_READDIR, handle)
            except EOFError:
                break
            for _ in range(min(reply.get_int(), MAX_ENTRIES - len(entries))):
                name, description = reply.get_text(), reply.get_text()
                _require_whole_attributes(reply)
                entry = SFTPAttributes._from_msg(reply, name, description)
                if name not in (".", ".."):
                    entries.append(entry)
        self._request(CMD_CLOSE, handle)
        return entries

    @override
    def _request(self, t: int, *args: Any) -> tuple[int, Message]:
        kind, reply = super()._request(t, *args)
        if kind == CMD_ATTRS:
            _require_whole_attributes(reply)
        return kind, reply

    def _extension(self, *request: str) -> Message | None:
        try:
            kind, reply = self._request(CMD_EXTENDED, *request)
        except (OSError, SFTPError):
            return None
        return reply if kind == CMD_EXTENDED_REPLY else None


class Session:
    """A connection that has logged in. As a context manager, it is closed at the end of the block.

    Attributes:
        address: address that answered, to which all further connections go.
        connect_s, key_exchange_s, authentication_s: see `records.Phases`.
        added_to: the file to which the host key was added; "" if it was known.
    """

    def __init__(self, target: Target, addresses: Sequence[Address], spec: TransferSpec, access: Access) -> None:
        """Connects to the far end and logs in."""
        logging.getLogger("paramiko").propagate = False  # it logs each error before it raises it
        logging.getLogger("paramiko").addHandler(logging.NullHandler())
        self.target, self._spec = target, spec
        self._addresses, self._access = tuple(addresses), access
        self.added_to = ""
        self.connection, self.address, self.connect_s = sockets.connect(addresses, spec)
        try:
            self.transport = Transport(self.connection, packetizer_class=BulkPacketizer)
            known = [] if access.expected_key else host_keys.look_up(target)
            self._choose_algorithms(known)
            begun = time.monotonic()
            self._exchange_keys()
            self.key_exchange_s = time.monotonic() - begun
            self._check_host_key(access, known)
            begun = time.monotonic()
            self.credential = self._log_in(access)
            self.authentication_s = time.monotonic() - begun
        except BaseException:
            with contextlib.suppress(AttributeError):
                self.transport.close()
            self.connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.transport.close()

    def reconnected(self) -> "Session":
        """Opens another connection to the same machine, with the known address and credential."""
        return Session(self.target, self._addresses, self._spec, self.access_for_streams())

    def access_for_streams(self) -> Access:
        """Returns the access of further connections: this one's host key and credential, without prompts."""
        return replace(self._access, ask=None, expected_key=self.host_key.fingerprint, credential=self.credential)

    def open_sftp(self, window_bytes: int = 2**21) -> Sftp:
        """Opens an SFTP session on a channel of its own."""
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
        except TRANSPORT_ERRORS as error:
            raise MeasurementFailed(
                f"{self.target.host} offers no SFTP: {reason(error)}",
                "try `sftp`; a log-in script that prints something (~/.bashrc) also breaks it",
            ) from error

    def facts(self) -> SocketFacts:
        connection, info = self.connection, tcp_info.read(self.connection)
        local, remote = connection.getsockname(), connection.getpeername()
        upload = self._spec.direction is Direction.UPLOAD
        return SocketFacts(
            local=(local[0], local[1]),
            remote=(remote[0], remote[1]),
            family=6 if connection.family == socket.AF_INET6 else 4,
            mptcp=tcp_info.subflows(connection) > 0,
            congestion_control=sockets.congestion_control(connection),
            send_buffer_bytes=connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
            receive_buffer_bytes=connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
            mss_bytes=info.sent_mss,
            path_mtu=sockets.path_mtu(connection),
            cipher=self.transport.local_cipher if upload else self.transport.remote_cipher,
            server=self.transport.remote_version,
            host_key=self.host_key.fingerprint,
        )

    def _choose_algorithms(self, known: Sequence[host_keys.KnownKey]) -> None:
        options = self.transport.get_security_options()
        try:
            options.ciphers = [self._spec.cipher]
        except ValueError:
            raise UsageError(
                f"--cipher: paramiko has no {self._spec.cipher!r}", f"choose one of {', '.join(options.ciphers)}"
            ) from None
        options.key_types = host_keys.preferred_algorithms(known, options.key_types)
        limit = self._spec.connect_limit_s
        self.transport.banner_timeout = self.transport.handshake_timeout = self.transport.auth_timeout = limit

    def _exchange_keys(self) -> None:
        where = f"{self.connection.getpeername()[0]} port {self.target.port}"
        try:
            self.transport.start_client(timeout=self._spec.connect_limit_s)
            self.host_key: PKey = self.transport.get_remote_server_key()
        except IncompatiblePeer as error:
            raise MeasurementFailed(
                f"{where}: no common encryption: {error}", "choose another --cipher, for example aes128-ctr"
            ) from error
        except TRANSPORT_ERRORS as error:
            if "banner" in str(error):
                raise MeasurementFailed(f"{where} answers, but not as an SSH server", "check the port") from error
            raise MeasurementFailed(f"{where}: the key exchange failed: {reason(error)}") from error

    def _check_host_key(self, access: Access, known: Sequence[host_keys.KnownKey]) -> None:
        fingerprint = self.host_key.fingerprint
        if access.expected_key is not None:
            if fingerprint != access.expected_key:
                raise host_keys.HostKeyRefused(
                    f"{self.target.host}: its host key changed: first {access.expected_key}, now {fingerprint}",
                    "several machines may share the name: measure one of them by its address",
                )
        elif not host_keys.check(self.target, self.host_key, known, access.revoked_keys_files):
            if not access.accept_new_host_key:
                raise host_keys.HostKeyRefused(
                    f"{self.target.host}: its host key is unknown: {self.host_key.get_name()} {fingerprint}",
                    "check the fingerprint with the machine's administrator, then add --accept-new-host-key",
                )
            self.added_to = host_keys.add(self.target, self.host_key, hash_name=access.hash_names)

    def _log_in(self, access: Access) -> Credential:
        login = Login(self.transport, self.target, access.ask)
        try:
            if access.credential is None:
                return login.find()
            login.use(access.credential)
            return access.credential
        except TRANSPORT_ERRORS as error:
            raise MeasurementFailed(f"{self.target}: the log-in failed: {reason(error)}") from error


def _require_whole_attributes(reply: Message) -> None:
    """Raises SFTPError if more extended attributes follow than the reply has room for.

    Beyond the end of a reply paramiko reads zeros, and so would read four billion attributes.
    """
    rest = reply.get_remainder()
    flags = _number(rest)
    at = 4 + sum(size for flag, size in _ATTRIBUTE_BYTES.items() if flags & flag)
    if flags & SFTPAttributes.FLAG_EXTENDED and 8 * _number(rest[at:]) > len(rest):
        raise SFTPError("the attributes of a file are cut off")


def _number(data: bytes) -> int:
    """Returns the first four bytes, of which missing ones are zeros, as paramiko reads them."""
    return int.from_bytes(data[:4].ljust(4, b"\0"), "big")


def reason(error: Exception) -> str:
    """Returns a transport's error in words: EOFError has none."""
    return str(error) or "the connection was closed"
