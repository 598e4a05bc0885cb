"""vsftpd in a host: without it FTP would be measured against something that only resembles a server."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from flightpath.commands import require
from flightpath.hosts import Host
from services.running.daemon import Daemon, DaemonService
from services.running.privileges import ACCOUNT

PORT = 2121
_HINT = "its port may be taken"

# It keeps the power of whoever starts it: only that may choose a congestion control. None but the hosts of a testbed
# reach it, and they may only read. seccomp and namespaces of its own would take MPTCP and the host's network from it.
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


class Vsftpd(DaemonService):
    """vsftpd that serves a folder to anybody, over both families; ready means that it lets one log in.

    Args:
        host: where it runs.
        folder: for its configuration, log and the files that it serves; made if need be.
        port: above 1023, so that no privilege is needed.
        env: added to its environment: `congestion_control.preload_environment` makes it use MPTCP, or an algorithm.
    """

    def __init__(self, host: Host, folder: Path, *, port: int = PORT, env: Mapping[str, str] | None = None) -> None:
        self.port, self.folder = port, Path(folder)
        self._host, self._env = host, env

    @property
    def files(self) -> Path:
        """The folder that it serves."""
        return self.folder / "files"

    def __enter__(self) -> Self:
        """Starts it.

        Raises:
            MissingCapability: vsftpd is not installed.
            StartFailed: it did not start or does not answer; with the end of its log.
        """
        self.files.mkdir(parents=True, exist_ok=True)
        path = self.folder / "vsftpd.conf"
        path.write_text(_CONFIGURATION.format(port=self.port, folder=self.folder, account=ACCOUNT))
        argv = [require("vsftpd"), str(path)]
        self._daemon = Daemon(self._host, "vsftpd", argv, self.folder / "vsftpd.log", env=self._env, hint=_HINT)
        self._daemon.start(self._answers)
        return self

    def _answers(self) -> bool:
        asking = self._host.popen([sys.executable, "-I", "-c", _LOG_IN, str(self.port)], stderr=subprocess.DEVNULL)
        return asking.wait(30) == 0
