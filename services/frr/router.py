"""The routers of a network that speak a routing protocol, each with daemons, files and sockets of its own."""

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any

from flightpath.commands import require
from flightpath.errors import MeasurementFailed, StartFailed
from flightpath.hosts import run_in
from flightpath.waiting import wait_until
from services.frr.package import Frr
from services.frr.protocols import Interface, RoutingProtocol
from services.running.daemon import Daemon

_CONVERGENCE_S, _STABLE_S = 120.0, 10.0
_POLL_S = 0.5  # and up to ten times that
_OPTIONS = ("-P", "0", "-u", "root", "-g", "root", "--log", "stdout", "--limit-fds", "256")
"""No telnet, and arrays for few descriptors: they are as long as a process may have, which here is a million."""
_GROUP = "frrvty:x:0:"
"""FRRouting ends where this group is missing; the package makes it, which is only unpacked."""


class RoutingRouters:
    """Routers that speak a routing protocol over IPv4, as a context manager.

    Inside it each of them has a route to each subnet, and none has changed for ten seconds: a first route may be over a
    neighbour that was sooner there than the best one.

    Args:
        routers: hosts that forward; their number in this list is that of their router and, with BGP, their system's.
        protocol: what they speak.
        costs: for a router's name and the number of an interface; 10 where nothing is said.

    Attributes:
        routes: the IPv4 routes of each router's kernel, by its name, with ip-route(8)'s keys (`dst`, `gateway`, `dev`)
    """

    def __init__(self, routers: Sequence[Any], protocol: RoutingProtocol, costs: Mapping[tuple[str, int], int]) -> None:
        self._routers, self._protocol, self._costs = routers, protocol, costs
        self._daemons: list[Daemon] = []
        self.routes: dict[str, list[dict[str, Any]]] = {}

    def __enter__(self) -> "RoutingRouters":
        """Starts the daemons, and returns when each router knows its way to each subnet.

        Raises:
            MissingCapability: FRRouting is missing.
            StartFailed: a daemon did not start, or the routes are not settled after two minutes.
        """
        frr = Frr.find()
        with contextlib.ExitStack() as stack:
            # Below /run, since the path of a socket has at most 107 characters.
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="frr-", dir="/run")))
            stack.callback(self._stop)
            group = self._folder / "group"
            group.write_text(f"{Path('/etc/group').read_text()}{_GROUP}\n")
            for number, router in enumerate(self._routers, start=1):
                self._start(frr, number, router)
            self._await_routes()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def check(self) -> None:
        """Raises MeasurementFailed if a daemon has ended."""
        for daemon in self._daemons:
            daemon.check()

    def _start(self, frr: Frr, number: int, router: Any) -> None:
        folder = self._folder / router.name
        folder.mkdir()
        interfaces = [self._interface(router, port, address) for port, address in _addresses(router)]
        for name in ("zebra", *self._protocol.daemons):
            is_first = name == self._protocol.daemons[0]
            lines = self._protocol.configure(number, interfaces) if is_first else ()
            configuration = folder / f"{name}.conf"
            configuration.write_text("".join(f"{line}\n" for line in lines))
            files = ["-f", str(configuration), "-i", str(folder / f"{name}.pid"), "-z", str(folder / "zserv.api")]
            own = ["--vty_socket", str(folder), *_OPTIONS]
            if name == "bfdd":
                own += ["--bfdctl", str(folder / "bfdd.sock")]
            argv = [*self._with_group(), frr.daemon(name), *files, *own]
            log = folder / f"{name}.log"
            daemon = Daemon(router, f"FRRouting's {name}", argv, log, frr.environment())
            self._daemons.append(daemon)
            ready = folder / ("zserv.api" if name == "zebra" else f"{name}.vty")
            daemon.start(ready.exists)

    def _interface(self, router: Any, port: int, address: IPv4Interface) -> Interface:
        neighbours = [
            (number, str(other.ip))
            for number, neighbour in enumerate(self._routers, start=1)
            if neighbour is not router
            for _, other in _addresses(neighbour)
            if other.network == address.network
        ]
        return Interface(router.intfs[port].name, address, neighbours, self._costs.get((router.name, port), 10))

    def _with_group(self) -> list[str]:
        """Returns a prefix that gives a program another /etc/group, in a mount namespace of its own."""
        mount = 'mount --bind "$0" /etc/group && exec "$@"'
        return [require("unshare"), "--mount", "sh", "-c", mount, str(self._folder / "group")]

    def _await_routes(self) -> None:
        networks = {str(address.network) for router in self._routers for _, address in _addresses(router)}
        since_s = time.monotonic()

        def settled() -> bool:
            nonlocal since_s
            now = {router.name: _routes(router) for router in self._routers}
            if now != self.routes:
                self.routes, since_s = now, time.monotonic()
            is_complete = all(networks <= {route["dst"] for route in known} for known in now.values())
            return is_complete and time.monotonic() - since_s >= _STABLE_S

        try:
            wait_until(settled, "the routers to know all subnets", _CONVERGENCE_S, check=self.check, poll_s=_POLL_S)
        except MeasurementFailed as error:
            raise StartFailed(str(error.args[0]), error.hint) from error

    def _stop(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.stop()


def _routes(router: Any) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = json.loads(run_in(router, ["ip", "-4", "-json", "route", "show"]))
    return shown


def _addresses(router: Any) -> Iterator[tuple[int, IPv4Interface]]:
    """Yields a router's IPv4 addresses, each with the number of its interface."""
    for port, addresses in sorted(router.addresses.items()):
        yield from ((port, address) for address in addresses if address.version == 4)
