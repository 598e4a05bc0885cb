"""OpenSSH's server in a host: without it file transfers would be measured against something that only resembles one."""

import os
import pwd
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from flightpath.commands import over_mptcp, require, run
from flightpath.hosts import Host
from services.running.daemon import Daemon, DaemonService
from services.running.privileges import Privileges, Situation

PORT = 2222
_ACCOUNT = "daemon"  # not `nobody`: where systemd knows its accounts, that one is locked, and sshd lets nobody in
_HINT = "its port may be taken, or its address not be this host's"

_CONFIGURATION = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
PidFile none
AuthorizedKeysFile {folder}/authorized_keys
AuthenticationMethods publickey
StrictModes no
UsePAM no
PrintMotd no
UseDNS no
# Many streams log in at the same moment, and as many may share a connection.
MaxStartups 200
MaxSessions 100
# The account may have no shell, and no home: both are of no use to a transfer.
Subsystem sftp internal-sftp -d {files}
"""

_CLIENT_CONFIGURATION = """\
Host {name}
    HostName {address}
    Port {port}
    User {user}
    IdentityFile {client}/id_ed25519
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {client}/known_hosts
    StrictHostKeyChecking yes
"""


class Sshd(DaemonService):
    """One sshd with keys of its own, which serves files from a folder; ready means that it proves its host key.

    It runs without root's power, so the one user who can log in is the one it runs as.

    Args:
        host: where it runs.
        address: the address to listen on; `0.0.0.0` or `::` for all, as further subflows of MPTCP need.
        folder: for its keys and configuration, private to it, and the files that it serves (`files`); made if need be.
        port: above 1023, so that no privilege is needed.
        name: what the client's configuration calls it.
        reach: the address that clients use, if not `address`.
        mptcp: listen for MPTCP (which accepts plain TCP as well).
        settings: further lines of sshd_config(5); they win over the ones above.
    """

    def __init__(
        self,
        host: Host,
        address: str,
        folder: Path,
        *,
        port: int = PORT,
        name: str = "dtn",
        reach: str = "",
        mptcp: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.host, self.address, self.port, self.folder, self.name = host, address, port, Path(folder), name
        self.reach = reach or address
        self._mptcp, self._settings = mptcp, dict(settings or {})
        self._privileges = Privileges.found(_ACCOUNT)

    @property
    def user(self) -> str:
        """Who can log in."""
        return pwd.getpwuid(self._uid).pw_name

    @property
    def files(self) -> Path:
        """The folder in which a session starts, and which its user may write."""
        return self.folder / "server" / "files"

    @property
    def client_configuration(self) -> Path:
        """A file for `ssh -F`, in which `name` is this server."""
        return self.folder / "client" / "config"

    @property
    def known_hosts(self) -> Path:
        """The client's file of host keys, which has this server's."""
        return self.folder / "client" / "known_hosts"

    @property
    def identity(self) -> Path:
        """The client's private key."""
        return self.folder / "client" / "id_ed25519"

    @property
    def pid(self) -> int:
        """Of the listening process."""
        return self._daemon.pid if self._daemon else -1

    def __enter__(self) -> Self:
        """Makes keys and starts it.

        Raises:
            MissingCapability: openssh-server is not installed.
            StartFailed: it did not start or does not answer; with the end of its log.
        """
        command = [require("sshd"), "-D", "-e", "-f", str(self._server / "sshd_config")]
        self._prepare_server()
        self._prepare_client()
        argv = [*self._privileges.prefix(), *over_mptcp(self._mptcp), *command]
        self._daemon = Daemon(self.host, "sshd", argv, self._server / "sshd.log", hint=_HINT)
        self._daemon.start(self._answers)
        return self

    def give(self, path: Path) -> Path:
        """Makes a file in `files` the server's own, so that its user can read and remove it; returns it."""
        self._privileges.give(path)
        return path

    @property
    def _uid(self) -> int:
        return os.geteuid() if self._privileges.situation is Situation.ORDINARY else self._privileges.uid

    @property
    def _server(self) -> Path:
        return self.folder / "server"

    def _prepare_server(self) -> None:
        self.folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._privileges.prepare_folder(self._server)
        self._privileges.prepare_folder(self.files)
        _make_key(self._server / "host_key")
        text = _CONFIGURATION.format(port=self.port, address=self.address, folder=self._server, files=self.files)
        own = "".join(f"{key} {value}\n" for key, value in self._settings.items())  # sshd takes the first of each
        (self._server / "sshd_config").write_text(own + text)
        for name in ("host_key", "sshd_config"):
            self.give(self._server / name)

    def _prepare_client(self) -> None:
        client = self.folder / "client"
        client.mkdir(mode=0o700, exist_ok=True)
        _make_key(self.identity)
        (self._server / "authorized_keys").write_text(self.identity.with_suffix(".pub").read_text())
        self.give(self._server / "authorized_keys")
        key = " ".join((self._server / "host_key.pub").read_text().split()[:2])
        self.known_hosts.write_text(f"[{self.reach}]:{self.port} {key}\n")
        self.client_configuration.write_text(
            _CLIENT_CONFIGURATION.format(
                name=self.name, address=self.reach, port=self.port, user=self.user, client=client
            )
        )

    def _answers(self) -> bool:
        asking = self.host.popen(
            [require("ssh-keyscan"), "-T", "2", "-t", "ed25519", "-p", str(self.port), self.reach],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        told, _ = asking.communicate(timeout=30)
        return (self._server / "host_key.pub").read_text().split()[1] in told


def _make_key(path: Path) -> None:
    if not path.exists():
        run([require("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path)])
