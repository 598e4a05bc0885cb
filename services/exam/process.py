"""The examination's application process: without it nginx would have nobody to ask."""

import secrets
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from flightpath.commands import over_mptcp
from flightpath.hosts import Host
from flightpath.project import PROJECT
from services.running.daemon import Daemon, DaemonService
from services.running.privileges import Privileges, Situation

_HINT = "it needs the database, and the Python packages that `make setup` installs"


class ExamApplication(DaemonService):
    """`python -m services.exam` in a host; ready means that its health page, which asks the database, comes back.

    Args:
        host: where it runs.
        folder: for its socket and log; made if need be, and private to it.
        databases: what to connect to, as `postgresql://` URLs with user and password; several are several addresses of
            one database, to which connections go in turn.
        mptcp: connect to the database over MPTCP.
        connections: how many connections to the database it keeps.
    """

    def __init__(
        self, host: Host, folder: Path, databases: Sequence[str], *, mptcp: bool = False, connections: int = 6
    ) -> None:
        self.host, self.folder = host, Path(folder)
        self._databases, self._mptcp, self._connections = databases, mptcp, connections
        self._privileges = Privileges.found()

    @property
    def socket(self) -> Path:
        """The Unix socket it listens on."""
        return self.folder / "exam.sock"

    def __enter__(self) -> Self:
        """Starts it.

        Raises:
            StartFailed: it did not start; with the end of its log.
        """
        self._privileges.prepare_folder(self.folder)
        self.socket.unlink(missing_ok=True)
        environment = {
            "EXAM_DATABASES": " ".join(self._databases),
            "EXAM_SESSION_KEY": secrets.token_hex(32),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        log = self.folder / "exam.log"
        self._daemon = Daemon(
            self.host, "the exam application", self._argv(), log, env=environment, cwd=PROJECT, hint=_HINT
        )
        self._daemon.start(self._answers)
        return self

    @property
    def pid(self) -> int:
        """The PID of the application, or -1 before the start."""
        return self._daemon.pid if self._daemon else -1

    def _argv(self) -> list[str]:
        wrapper = over_mptcp(self._mptcp)
        command = [sys.executable, "-m", "services.exam", "--socket", str(self.socket)]
        command += ["--connections", str(self._connections)]
        if self._privileges.situation is Situation.ROOT:
            # It drops root itself, once all is imported: the project may lie in a home folder closed to others.
            return [*wrapper, *command, "--uid", str(self._privileges.uid), "--gid", str(self._privileges.gid)]
        return [*self._privileges.prefix(), *wrapper, *command]

    def _answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as asking:
                asking.settimeout(5)
                asking.connect(str(self.socket))
                asking.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                return asking.recv(64).split()[1:2] == [b"200"]
        except OSError:
            return False
