"""An SSH connection by paramiko in this process: the fast way, for hosts that are reached directly."""

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from paramiko import ChannelException, PKey, Transport
from paramiko.ssh_exception import IncompatiblePeer

from flightpath import tcp_info
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.overrides import override
from probes.preflight import sockets
from probes.preflight.records import KernelSample, SocketFacts
from probes.preflight.sockets import Address
from probes.preflight.spec import Direction, TransferSpec
from probes.preflight.ssh import host_keys
from probes.preflight.ssh.login import Credential, Login, OnlyOpenSsh
from probes.preflight.ssh.packetizer import MAX_PACKET_BYTES, BulkPacketizer
from probes.preflight.ssh.session import SshAccess, SshSession, no_further_session, no_sftp
from probes.preflight.ssh.sftp import TRANSPORT_ERRORS, Sftp, reason
from probes.preflight.target import Target


class BuiltInSession(SshSession):
    """A connection by paramiko, with the packet layer of `packetizer`."""

    def __init__(self, target: Target, addresses: Sequence[Address], spec: TransferSpec, access: SshAccess) -> None:
        """Connects to the far end and logs in."""
        logging.getLogger("paramiko").propagate = False  # it logs each error before it raises it
        logging.getLogger("paramiko").addHandler(logging.NullHandler())
        super().__init__(target, spec, access)
        self._addresses = tuple(addresses)
        self.connection, self.address, self.connect_s = sockets.connect(addresses, spec)
        try:
            self.transport = Transport(self.connection, packetizer_class=BulkPacketizer)
            self._packetizer: BulkPacketizer = self.transport.packetizer
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

    @override
    def close(self) -> None:
        self.transport.close()

    @override
    def keep_alive(self, interval_s: int) -> None:
        self.transport.set_keepalive(interval_s)

    @override
    def reconnected(self) -> "BuiltInSession":
        return BuiltInSession(self.target, self._addresses, self._spec, self.access_for_streams())

    @override
    def access_for_streams(self) -> SshAccess:
        checked = {"expected_key": self.host_key.fingerprint, "credential": self.credential}
        return replace(self._access, ask=None, terminal=None, **checked)

    @override
    def open_sftp(self, window_bytes: int = 2**21) -> Sftp:
        limit = self._spec.connect_limit_s
        try:
            channel = self.transport.open_session(window_bytes, min(MAX_PACKET_BYTES, window_bytes), limit)
            channel.settimeout(limit)
            channel.invoke_subsystem("sftp")
            return Sftp(channel)
        except ChannelException as error:
            raise no_further_session(self.target, error.text) from error
        except TRANSPORT_ERRORS as error:
            raise no_sftp(self.target, reason(error)) from error

    @override
    def consume(self, sftp: Sftp, consumer: Callable[[memoryview], None]) -> None:
        self._packetizer.consume(sftp.get_channel().chanid, consumer)

    @override
    def sample(self) -> KernelSample | None:
        return sockets.sample(self.connection)

    @override
    def rtts_s(self) -> tuple[float, float]:
        info = tcp_info.read(self.connection)
        return info.rtt_us / 1e6, (info.minimum_rtt_us or info.rtt_us) / 1e6

    @property
    @override
    def is_active(self) -> bool:
        return self.transport.is_active()

    @property
    @override
    def failure(self) -> Exception | None:
        return self.transport.saved_exception

    @property
    @override
    def cipher_ns(self) -> int:
        return self._packetizer.cipher_ns

    @override
    def facts(self) -> SocketFacts:
        upload = self._spec.direction is Direction.UPLOAD
        return sockets.facts_of(
            self.connection,
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

    def _check_host_key(self, access: SshAccess, known: Sequence[host_keys.KnownKey]) -> None:
        fingerprint = self.host_key.fingerprint
        if access.expected_key is not None:
            if fingerprint != access.expected_key:
                raise host_keys.another(self.target, access.expected_key, fingerprint)
        elif not host_keys.check(self.target, self.host_key, known, access.revoked_keys_files):
            if any(each.marker == "@cert-authority" for each in known):
                raise OnlyOpenSsh(f"{self.target}: an authority must certify its host key")
            if not access.accept_new_host_key:
                raise host_keys.unknown(self.target, self.host_key.get_name(), fingerprint)
            self.added_to = host_keys.add(self.target, self.host_key, hash_name=access.hash_names)

    def _log_in(self, access: SshAccess) -> Credential:
        login = Login(self.transport, self.target, access.ask)
        try:
            if access.credential is None:
                return login.find()
            login.use(access.credential)
            return access.credential
        except TRANSPORT_ERRORS as error:
            raise MeasurementFailed(f"{self.target}: the log-in failed: {reason(error)}") from error
