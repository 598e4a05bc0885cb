"""OpenSSH's server in a host, for file transfers."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from flightpath.commands import require, run
from flightpath.hosts import Host, running
from flightpath.overrides import override
from services.running.daemon import DaemonService
from services.running.privileges import Privileges, Situation

PORT = 2222
_ACCOUNT = "daemon"  # not `nobody`: systemd may lock that account, and sshd refuses a locked one

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
# Many streams log in at the same time, and may share a connection.
MaxStartups 200
MaxSessions 100
# The account may have no shell and no home, and SFTP needs neither.
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
    """One sshd with its own keys, which serves files from a folder; it is ready when it proves its host key.

    It runs without root's privileges, so only its own user can log in.

    Args:
        address: address to listen on; `0.0.0.0` or `::` for all addresses, which further subflows of MPTCP need.
        folder: folder for keys, configuration, log and served files; made if it does not exist.
        port: above 1023, so that no privilege is needed.
        reach: address that clients use, if it is not `address`.
        settings: more options of sshd_config(5); they override the ones above.

    Attributes:
        files: folder in which sessions start; the user may write to it.
        client_configuration: file for `ssh -F`, in which `name` is this server.
        known_hosts, identity: the client's files, with this server's key and the client's private key.
    """

    daemon_name, log_name = "sshd", "server/sshd.log"
    name = "dtn"
    """Name of the server in the client's configuration."""

    def __init__(
        self,
        host: Host,
        address: str,
        folder: Path,
        *,
        port: int = PORT,
        reach: str = "",
        mptcp: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(host, folder, port=port, mptcp=mptcp, privileges=Privileges.detect(_ACCOUNT))
        self.address, self.reach, self._settings = address, reach or address, settings or {}
        self._server, self._client = self.folder / "server", self.folder / "client"
        self.files, self.client_configuration = self._server / "files", self._client / "config"
        self.known_hosts, self.identity = self._client / "known_hosts", self._client / "id_ed25519"

    def give(self, path: Path) -> Path:
        """Makes the server's user the owner of a file in `files`, so that it can be read and removed; returns it."""
        self._privileges.give(path)
        return path

    @override
    def _argv(self) -> list[str]:
        return self._wrapped(require("sshd"), "-D", "-e", "-f", str(self._server / "sshd_config"))

    @override
    def _prepare(self) -> None:
        self.folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._privileges.prepare_folder(self._server)
        self._privileges.prepare_folder(self.files)
        _make_key(self._server / "host_key")
        text = _CONFIGURATION.format(port=self.port, address=self.address, folder=self._server, files=self.files)
        own = "".join(f"{key} {value}\n" for key, value in self._settings.items())  # sshd uses the first of each
        self._write(self._server / "sshd_config", own + text)
        self.give(self._server / "host_key")
        self._client.mkdir(mode=0o700, exist_ok=True)
        _make_key(self.identity)
        self._write(self._server / "authorized_keys", self.identity.with_suffix(".pub").read_text())
        key = " ".join((self._server / "host_key.pub").read_text().split()[:2])
        self.known_hosts.write_text(f"[{self.reach}]:{self.port} {key}\n")
        uid = os.geteuid() if self._privileges.situation is Situation.ORDINARY else self._privileges.uid
        values = {"name": self.name, "address": self.reach, "port": self.port, "user": pwd.getpwuid(uid).pw_name}
        self.client_configuration.write_text(_CLIENT_CONFIGURATION.format(**values, client=self._client))

    @override
    def _is_ready(self) -> bool:
        scan = [require("ssh-keyscan"), "-T", "2", "-t", "ed25519", "-p", str(self.port), self.reach]
        with running(self.host, scan) as process:
            host_keys, _ = process.communicate(timeout=30)
        return (self._server / "host_key.pub").read_text().split()[1] in host_keys


def _make_key(path: Path) -> None:
    if not path.exists():
        run([require("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path)])
