"""Reads the view of a running controller."""

import http.client
import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from controllers.addresses import DEFAULT_REST
from flightpath.errors import FlightpathError, UsageError
from flightpath.hosts import endpoint
from flightpath.overrides import override

_TIMEOUT_S = 10.0
_SOCKET_FOLDERS = ("run/flightpath", "proc/*/root/run/flightpath")


class NoController(FlightpathError):
    """No steering controller answers at an address."""


class View:
    """A controller's view at `http://127.0.0.1:8653` or `unix:/path`; each method fetches it again.

    Raises:
        UsageError: `where` has another form.
        NoController: from each method.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        if not where.startswith(("unix:/", "http://")):
            raise UsageError(f"url: cannot read {where!r}", "accepted forms: http://127.0.0.1:8653, unix:/path")

    def connections(self) -> dict[str, Any]:
        """Returns the connections, as `controllers.view.state.ControllerState.connections_json` returns them."""
        return json.loads(self.get("/connections"))

    def topology(self) -> dict[str, Any]:
        """Returns the topology, as `controllers.view.state.ControllerState.topology_json` returns it."""
        return json.loads(self.get("/topology"))

    def health(self) -> dict[str, Any]:
        """Returns the health, as `controllers.view.state.ControllerState.health_json` returns it."""
        return json.loads(self.get("/health"))

    def metrics(self) -> dict[str, float]:
        """Returns all samples of the metrics, by name with labels, without the prefix `flightpath_`."""
        lines = (line for line in self.get("/metrics").splitlines() if line and not line.startswith("#"))
        samples = (line.rpartition(" ") for line in lines)
        return {name.removeprefix("flightpath_"): float(value) for name, _, value in samples}

    def get(self, path: str) -> str:
        if self.where.startswith("unix:"):
            connection: http.client.HTTPConnection = _UnixConnection(self.where.removeprefix("unix:"))
        else:
            connection = http.client.HTTPConnection(urlsplit(self.where).netloc, timeout=_TIMEOUT_S)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            hint = "start one with a policy: flightpath controller --network FILE --policy disjoint"
            raise NoController(f"no controller answers at {self.where}: {error}", hint) from error
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise NoController(f"{self.where} answers {response.status} to {path}: {text.strip()[:200]}")
        return text


def find_view() -> View:
    """Returns the view of the only controller that runs on this machine, inside or outside a sandbox.

    Raises:
        UsageError: several controllers are running; the hint lists them.
    """
    sockets: dict[tuple[int, int], Path] = {}
    for folder in _SOCKET_FOLDERS:
        for path in Path("/").glob(f"{folder}/*.sock"):
            status = path.stat()
            sockets.setdefault((status.st_dev, status.st_ino), path)  # processes of one sandbox have the same root
    if len(sockets) > 1:
        urls = ", ".join(f"--url unix:{path}" for path in sockets.values())
        raise UsageError(f"{len(sockets)} controllers run on this machine", f"choose one: {urls}")
    return View(f"unix:{next(iter(sockets.values()))}" if sockets else f"http://{DEFAULT_REST}")


def ends_of(subflow: Mapping[str, Any]) -> str:
    """Returns the addresses and ports of a subflow of the view, as text."""
    source = endpoint(subflow["source"], subflow["source_port"])
    return f"{source} → {endpoint(subflow['destination'], subflow['destination_port'])}"


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket, which can be reached from any network namespace."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._path = path

    @override
    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_TIMEOUT_S)
        self.sock.connect(self._path)
