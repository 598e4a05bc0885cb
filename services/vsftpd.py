"""vsftpd in a host, for downloads by FTP."""

import sys
from collections.abc import Mapping
from pathlib import Path

from flightpath.commands import require
from flightpath.hosts import Host, succeeds_in
from flightpath.overrides import override
from services.running.daemon import DaemonService
from services.running.privileges import ACCOUNT, Privileges, Situation

PORT = 2121

# With seccomp or namespaces of its own it would lose MPTCP or the host's network, and its own chroot needs root. It has
# none of root's rights instead: only the hosts of the testbed can reach it, and they read what everybody may read.
_CONFIGURATION = """\
listen=NO
listen_ipv6=YES
listen_port={port}
background=NO
run_as_launching_user=YES
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
secure_chroot_dir={folder}
ftp_username={account}
nopriv_user={account}
anonymous_enable=YES
no_anon_password=YES
anon_root={folder}/files
local_enable=NO
write_enable=NO
xferlog_enable=NO
"""

_LOG_IN = (
    "import ftplib, sys; server = ftplib.FTP(timeout=2); server.connect('localhost', int(sys.argv[1])); server.login()"
)


def _only_choosing_congestion_controls(privileges: Privileges) -> list[str]:
    """Returns a prefix that drops root's privileges but allows any congestion control.

    Root of a user namespace is an ordinary user of the machine anyway.
    """
    if privileges.situation is not Situation.ROOT:
        return []
    user = [f"--reuid={privileges.uid}", f"--regid={privileges.gid}", "--clear-groups", "--no-new-privs"]
    kept = ["--inh-caps=-all,+net_admin", "--ambient-caps=-all,+net_admin", "--bounding-set=-all,+net_admin"]
    return [require("setpriv"), *user, *kept, "--"]


class Vsftpd(DaemonService):
    """vsftpd, which serves a folder to anonymous users over IPv4 and IPv6; it is ready when one can log in.

    Args:
        folder: folder for configuration, log and served files; made if it does not exist.
        port: above 1023, so that no privilege is needed.
        env: environment variables; `topologies.hosts.congestion_control.preload_environment` makes it use MPTCP, or a
            congestion control.
    """

    daemon_name, log_name = "vsftpd", "vsftpd.log"
    hint = "its port may be taken"

    def __init__(self, host: Host, folder: Path, *, port: int = PORT, env: Mapping[str, str] | None = None) -> None:
        super().__init__(host, folder, port=port, privileges=Privileges.detect())
        self._env, self._configuration = env or {}, self.folder / "vsftpd.conf"
        self.files = self.folder / "files"
        """Folder that it serves."""

    @override
    def _prepare(self) -> None:
        self.files.mkdir(parents=True, exist_ok=True)
        self._configuration.write_text(_CONFIGURATION.format(port=self.port, folder=self.folder, account=ACCOUNT))
        self._privileges.give(self._configuration)  # it reads no other user's

    @override
    def _argv(self) -> list[str]:
        argv = [require("vsftpd"), str(self._configuration)]
        return [*_only_choosing_congestion_controls(self._privileges), *argv]

    @override
    def _environment(self) -> Mapping[str, str]:
        return self._env

    @override
    def _is_ready(self) -> bool:
        return succeeds_in(self.host, [sys.executable, "-I", "-c", _LOG_IN, str(self.port)])
