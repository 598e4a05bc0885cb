"""Asks a running controller what it knows: without it only a web browser could, and none is in a sandbox."""

import http.client
import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from flightpath.errors import FlightpathError, UsageError

_LIMIT_S = 10.0
_SOCKET_FOLDERS = ("/run/flightpath", "/proc/*/root/run/flightpath")


class NoController(FlightpathError):
    """No controller that steers answers there."""


class View:
    """A controller's view.

    Args:
        where: `http://127.0.0.1:8653`, or `unix:/path/to/socket`.

    Raises:
        UsageError: cannot be read.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        if not where.startswith(("unix:/", "http://")):
            raise UsageError(f"url: cannot read {where!r}", "accepted forms: http://127.0.0.1:8653, unix:/path")

    def connections(self) -> dict[str, Any]:
        """See `controllers.view.view.connections`."""
        return json.loads(self.get("/connections"))

    def topology(self) -> dict[str, Any]:
        """See `controllers.view.view.topology`."""
        return json.loads(self.get("/topology"))

    def health(self) -> dict[str, Any]:
        """See `controllers.view.view.health`."""
        return json.loads(self.get("/health"))

    def metrics(self) -> dict[str, float]:
        """Every sample of the metrics, by its name with labels, without the prefix `flightpath_`."""
        lines = (line for line in self.get("/metrics").splitlines() if line and not line.startswith("#"))
        samples = (line.rpartition(" ") for line in lines)
        return {name.removeprefix("flightpath_"): float(value) for name, _, value in samples}

    def get(self, path: str) -> str:
        """What the controller answers.

        Raises:
            NoController: it does not, or not with what was asked for.
        """
        connection = self._connection()
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            hint = "start one with a policy: python -m controllers --network FILE --policy disjoint"
            raise NoController(f"no controller answers at {self.where}: {error}", hint) from error
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise NoController(f"{self.where} answers {answer.status} to {path}: {text.strip()[:200]}")
        return text

    def _connection(self) -> http.client.HTTPConnection:
        if self.where.startswith("unix:"):
            return _UnixConnection(self.where.removeprefix("unix:"))
        return http.client.HTTPConnection(urlsplit(self.where).netloc, timeout=_LIMIT_S)


def find_view(default: str) -> View:
    """The one controller that runs on this machine: on its default port, or in a sandbox.

    Args:
        default: where to look if there is no socket.

    Raises:
        UsageError: there are several; the hint names them.
    """
    sockets = {}
    for folder in _SOCKET_FOLDERS:
        for path in Path("/").glob(f"{folder[1:]}/*.sock"):
            sockets.setdefault(_identity(path), path)
    if len(sockets) > 1:
        names = ", ".join(f"--url unix:{path}" for path in sockets.values())
        raise UsageError(f"{len(sockets)} controllers run on this machine", f"choose one: {names}")
    return View(f"unix:{next(iter(sockets.values()))}" if sockets else default)


def ends_of(subflow: Mapping[str, Any]) -> str:
    """The addresses and ports of a subflow of the view, for people."""
    ends = ((subflow["source"], subflow["source_port"]), (subflow["destination"], subflow["destination_port"]))
    return " → ".join(f"[{address}]:{port}" if ":" in address else f"{address}:{port}" for address, port in ends)


def _identity(path: Path) -> tuple[int, int]:
    """The same for one socket, under whichever process's root it is seen."""
    status = path.stat()
    return status.st_dev, status.st_ino


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket in the file system, which is reached from any network namespace."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_LIMIT_S)
        self._path = path

    def connect(self) -> None:
        """http.client's hook."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_LIMIT_S)
        self.sock.connect(self._path)
