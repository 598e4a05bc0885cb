"""The examination's application (`python -m services.exam`) as a daemon in a host."""

import secrets
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from flightpath.commands import over_mptcp
from flightpath.hosts import Host
from flightpath.overrides import override
from flightpath.project import PROJECT
from services.exam import DATABASES, SESSION_KEY
from services.running.daemon import DaemonService
from services.running.http_check import has_page
from services.running.privileges import Privileges, Situation


class ExamApplication(DaemonService):
    """The application's process; it is ready when its health page, which queries the database, can be fetched.

    Args:
        host: see `DaemonService`.
        folder: for its socket and log; made if it does not exist, and closed to others.
        databases: `postgresql://` URLs with user and password; if there are several, they are addresses of the same
            database, to which connections go in turn.
        mptcp: connect to the database over MPTCP.
    """

    daemon_name, log_name = "the exam application", "exam.log"
    hint = "it needs the database, and the Python packages that `make setup` installs"
    cwd = PROJECT

    def __init__(self, host: Host, folder: Path, databases: Sequence[str], *, mptcp: bool = False) -> None:
        super().__init__(host, folder, mptcp=mptcp, privileges=Privileges.detect())
        self._databases = databases

    @property
    def socket(self) -> Path:
        """The Unix socket that it listens on."""
        return self.folder / "exam.sock"

    @override
    def _prepare(self) -> None:
        self._privileges.prepare_folder(self.folder)
        self.socket.unlink(missing_ok=True)

    @override
    def _environment(self) -> Mapping[str, str]:
        return {
            DATABASES: " ".join(self._databases),
            SESSION_KEY: secrets.token_hex(32),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    @override
    def _argv(self) -> list[str]:
        command = [sys.executable, "-m", "services.exam", "--socket", str(self.socket)]
        if self._privileges.situation is Situation.ROOT:
            # It drops root's privileges when all is imported: the project may lie in a home folder closed to others.
            user = ["--uid", str(self._privileges.uid), "--gid", str(self._privileges.gid)]
            return [*over_mptcp(self._mptcp), *command, *user]
        return self._wrapped(*command)

    @override
    def _is_ready(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(5)
                connection.connect(str(self.socket))
                return has_page(connection, "/healthz")
        except OSError:
            return False
