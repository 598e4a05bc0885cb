"""The routers of a network that speak a routing protocol, each with daemons, files and sockets of its own."""

import contextlib
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flightpath.commands import require
from flightpath.errors import StartFailed
from flightpath.hosts import run_in
from flightpath.waiting import timeout_scale
from services.frr.package import Frr
from services.frr.protocols import Interface, RoutingProtocol
from services.running.daemon import Daemon

_CONVERGENCE_S, _POLL_S, _STABLE_S = 120.0, 1.0, 10.0
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
    """

    def __init__(self, routers: Sequence[Any], protocol: RoutingProtocol, costs: Mapping[tuple[str, int], int]) -> None:
        self._routers, self._protocol, self._costs = routers, protocol, costs
        self._daemons: list[Daemon] = []

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
        interfaces = [self._interface(router, port) for port in sorted(router.addresses)]
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

    def _interface(self, router: Any, port: int) -> Interface:
        address = next(each for each in router.addresses[port] if each.version == 4)
        neighbours = [
            (number, str(other.ip))
            for number, neighbour in enumerate(self._routers, start=1)
            if neighbour is not router
            for addresses in neighbour.addresses.values()
            for other in addresses
            if other.version == 4 and other.network == address.network
        ]
        return Interface(router.intfs[port].name, address, neighbours, self._costs.get((router.name, port), 10))

    def _with_group(self) -> list[str]:
        """Returns a prefix that gives a program another /etc/group, in a mount namespace of its own."""
        mount = 'mount --bind "$0" /etc/group && exec "$@"'
        return [require("unshare"), "--mount", "sh", "-c", mount, str(self._folder / "group")]

    def _await_routes(self) -> None:
        networks = {
            str(address.network)
            for router in self._routers
            for addresses in router.addresses.values()
            for address in addresses
            if address.version == 4
        }
        deadline_s = time.monotonic() + _CONVERGENCE_S * timeout_scale()
        while missing := next(filter(None, map(partial(_missing, networks), self._routers)), None):
            self.check()
            if time.monotonic() > deadline_s:
                raise StartFailed(f"the routers do not know all subnets after {_CONVERGENCE_S:g} s: {missing}")
            time.sleep(_POLL_S)
        while (before := [routes(router) for router in self._routers]) != self._routes_after(_STABLE_S):
            self.check()
            if time.monotonic() > deadline_s:
                raise StartFailed(f"the routers' routes still change after {_CONVERGENCE_S:g} s: {before}")

    def _routes_after(self, seconds: float) -> list[list[dict[str, Any]]]:
        time.sleep(seconds)
        return [routes(router) for router in self._routers]

    def _stop(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.stop()


def routes(router: Any) -> list[dict[str, Any]]:
    """Returns the IPv4 routes of a router's kernel, as ip-route(8) shows them: `dst`, `gateway`, `dev`, ..."""
    shown: list[dict[str, Any]] = json.loads(run_in(router, ["ip", "-4", "-json", "route", "show"]))
    return shown


def _missing(networks: set[str], router: Any) -> str:
    """Says which subnets a router has no route to; nothing if it has all."""
    missing = networks - {route["dst"] for route in routes(router)}
    return f"{router.name} has no route to {', '.join(sorted(missing))}" if missing else ""
