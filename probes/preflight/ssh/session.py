"""An SSH connection to the far end: what preparing and transferring files needs of it, whichever program speaks SSH."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from probes.preflight.session import Access, Session
from probes.preflight.spec import TransferSpec
from probes.preflight.ssh import steady_clock
from probes.preflight.ssh.login import Ask, Credential
from probes.preflight.ssh.sftp import Sftp
from probes.preflight.target import Target

steady_clock.use()


@dataclass(frozen=True)
class SharedConnection:
    """A connection of OpenSSH's client that further processes may use, and what is known of it.

    Attributes:
        control_path: its socket (ControlPath in ssh_config(5)).
        process: the process's id.
        ciphers: those from the far end, and to it.
        connect_s, key_exchange_s, authentication_s: see `records.Phases`.
    """

    control_path: str
    process: int
    server: str
    host_key: str
    ciphers: tuple[str, str]
    connect_s: float
    key_exchange_s: float
    authentication_s: float


@dataclass(frozen=True)
class SshAccess(Access):
    """Verification of the host key, and log-in.

    Attributes:
        accept_new_host_key: accept the key of an unknown host, and add it to known_hosts.
        hash_names: hash the names that are added there.
        ask: callback that prompts for passphrases and passwords; None never prompts.
        revoked_keys_files: files of host keys that are refused.
        expected_key: fingerprint of the host key that an earlier connection has checked; replaces known_hosts.
        ssh_options: options of ssh(1) that say how to reach the far end.
        terminal: context in which ssh(1) itself has the terminal for its questions; None: nobody can be asked.
        shared: connection of ssh(1) to use instead of another log-in, which would ask again.
    """

    accept_new_host_key: bool = False
    hash_names: bool = False
    ask: Ask | None = None
    revoked_keys_files: tuple[str, ...] = ()
    expected_key: str | None = None
    credential: Credential | None = None
    ssh_options: tuple[str, ...] = ()
    terminal: Callable[[], AbstractContextManager[None]] | None = None
    shared: SharedConnection | None = None


class SshSession(Session):
    """A connection by SSH, whichever program speaks it."""

    target: Target

    def __init__(self, target: Target, spec: TransferSpec, access: SshAccess) -> None:
        self.target, self._spec, self._access = target, spec, access

    @override
    @abstractmethod
    def access_for_streams(self) -> SshAccess: ...

    @abstractmethod
    def reconnected(self) -> "SshSession":
        """Opens another connection to the same machine, without a question."""

    @abstractmethod
    def open_sftp(self, window_bytes: int = 2**21) -> Sftp:
        """Opens an SFTP session on a channel of its own."""

    @abstractmethod
    def consume(self, sftp: Sftp, consumer: Callable[[memoryview], None]) -> None:
        """Passes all that arrives on a channel to a consumer from now on, in another thread.

        The consumer must not keep the view that it gets.
        """


def no_further_session(target: Target, why: str) -> MeasurementFailed:
    """Returns the error for a far end that opens no channel."""
    return MeasurementFailed(
        f"{target.host} opens no further session on this connection: {why}",
        "its sshd_config may limit them (MaxSessions): use fewer streams, or a connection for each",
    )


def no_sftp(target: Target, why: str) -> MeasurementFailed:
    """Returns the error for a far end whose channel speaks no SFTP."""
    return MeasurementFailed(
        f"{target.host} offers no SFTP: {why}",
        "try `sftp`; a log-in script that prints something (~/.bashrc) also breaks it",
    )
