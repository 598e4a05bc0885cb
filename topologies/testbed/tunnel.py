"""A multipath tunnel (`native/tunnel`) between two hosts, over all paths that they share."""

import contextlib
import secrets
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import native
from flightpath.commands import end_and_close
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, UsageError
from flightpath.waiting import wait_until
from topologies.hosts.multihomed import MultihomedHost
from topologies.links import control_socket

DEVICE = "mpt0"
SCHEDULERS = ("wrr", "rtt", "redundant", "flowhash")
REORDERING = ("off", "fixed", "adaptive")
_UP_WITHIN_S = 15


@dataclass(frozen=True)
class TunnelSpec:
    """How a tunnel works: the settings of `mptgre --help`, with the same defaults.

    Attributes:
        family: 4 or 6, the IP version of its paths.
        scheduler: `wrr`, `rtt`, `redundant` or `flowhash`.
        run: packets in a row on a path (`wrr`); 0 chooses it by the rate.
        weights: `fixed` or `adaptive`.
        path_weights: the weights of the paths in order; 1 for those without one.
        backups: indices of the paths that are used only while no other is up.
        reordering: `off`, `fixed` (wait `max_delay_s` for a missing packet) or `adaptive` (wait until each path has
            brought a later one; with `wrr`, delay packets from shorter paths to match the longest).
        window_packets, max_delay_s: size of the reordering buffer, and the longest wait in it.
        keepalives: authenticated messages that find out which paths are up; without them every path is taken to be.
        interval_s, dead_s: time between keepalives, and the silence after which a path is down.
        offloads: whether to use super-packets; False handles one packet per system call.
        mtu_bytes: upper limit for the tunnel's interface; None for none but the paths' own.
        port: UDP port at both ends.
    """

    family: int = 4
    scheduler: str = "wrr"
    run: int = 0
    weights: str = "fixed"
    path_weights: Sequence[float] = ()
    backups: frozenset[int] = frozenset()
    reordering: str = "adaptive"
    window_packets: int = 16384
    max_delay_s: float = 0.2
    keepalives: bool = True
    interval_s: float = 0.1
    dead_s: float = 0.5
    offloads: bool = True
    mtu_bytes: int | None = None
    port: int = 4754

    def __post_init__(self) -> None:
        for name, known in (
            ("family", (4, 6)),
            ("scheduler", SCHEDULERS),
            ("weights", ("fixed", "adaptive")),
            ("reordering", REORDERING),
        ):
            if getattr(self, name) not in known:
                forms = ", ".join(map(str, known))
                raise UsageError(f"{name}: {getattr(self, name)!r} is unknown", f"choose one of {forms}")


@dataclass
class _End:
    """One end: a host and its process."""

    host: MultihomedHost
    number: int
    folder: Path
    process: subprocess.Popen[str] | None = field(default=None)

    @property
    def configuration(self) -> Path:
        return self.folder / "tunnel.conf"

    @property
    def control(self) -> Path:
        return self.folder / "control"


class Tunnel:
    """A tunnel that runs for the time of a `with` block, and gives both hosts an interface to each other.

    On entry it waits until each end hears the other on every path. Both processes end with the block, or with the
    thread that started them if that ends first.

    Args:
        client, server: hosts that have an address of the paths' family on the same ports; each such port is a path,
            named `path1`, `path2` and so on.
        spec: how it works.
        device: the name of the interface.
        networks: of the addresses inside; the client has the first address of each, the server the second.
        program: `mptgre`, or `mptgre-asan` for tests.
    """

    def __init__(
        self,
        client: MultihomedHost,
        server: MultihomedHost,
        spec: TunnelSpec | None = None,
        *,
        device: str = DEVICE,
        networks: Sequence[str] = ("10.99.0.0/24", "fd99::/64"),
        program: str = "mptgre",
    ) -> None:
        self.spec, self.device = spec or TunnelSpec(), device
        self.networks: list[IPv4Network | IPv6Network] = [ip_network(text) for text in networks]
        self.paths = _common_ports(client, server, self.spec.family)
        self._program = native.binary(program)
        self._hosts = (client, server)
        self._ends: list[_End] = []
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Starts both ends.

        Raises:
            UsageError: `mptgre` refuses the configuration.
            MissingCapability: this machine lacks something.
            MeasurementFailed: the ends do not reach each other on every path.
        """
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flightpath-tunnel-")))
            key = secrets.token_hex(32)
            for number, host in enumerate(self._hosts, start=1):
                self._ends.append(_End(host, number, folder / host.name))
                stack.callback(self._ends.remove, self._ends[-1])
                self._prepare(self._ends[-1], key)
                self._start(self._ends[-1], stack)
            if self.spec.keepalives:
                wait_until(self.is_up, f"tunnel {self.device} to be up on every path", _UP_WITHIN_S, check=self.check)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends both processes, and with them their interfaces."""
        self._stack.close()

    def address(self, host: MultihomedHost, family: int = 4) -> str:
        """The host's address inside the tunnel."""
        return str(self._network(family)[self._hosts.index(host) + 1])

    def stats(self, host: MultihomedHost) -> dict[str, Any]:
        """The statistics of the host's end; `native/tunnel/requests.h` documents them.

        Raises:
            MeasurementFailed: the end does not run any more.
        """
        return self._ask(self._end_of(host), "stats")

    def is_up(self) -> bool:
        """Whether each end hears the other on every path."""
        return all(path["state"] == "up" for host in self._hosts for path in self.stats(host)["paths"])

    def set_path(self, path: int, *hosts: MultihomedHost, **settings: float | bool) -> None:
        """Changes a path while packets flow.

        Args:
            path: its index.
            hosts: the ends to change; both by default.
            settings: weight (0.001 to 1000000), backup, enabled.

        Raises:
            FlightpathError: there is no such path or setting, or its value is out of bounds.
        """
        text = ",".join(f"{key}={int(value) if isinstance(value, bool) else value}" for key, value in settings.items())
        for host in hosts or self._hosts:
            self._ask(self._end_of(host), f"set path{path + 1} {text}")

    def cpu_seconds(self, host: MultihomedHost) -> float:
        """CPU time that the host's end has used, including that of the kernel in its system calls."""
        return sum(self.stats(host)["cpu_ns"].values()) / 1e9

    def check(self) -> None:
        """Raises MeasurementFailed if an end does not run any more."""
        for end in self._ends:
            if end.process is None or end.process.poll() is not None:
                code = end.process.returncode if end.process else "none"
                raise MeasurementFailed(f"the tunnel {self.device} of {end.host.name} has ended (exit code {code})")

    def _prepare(self, end: _End, key: str) -> None:
        end.folder.mkdir(mode=0o700)
        (end.folder / "key").touch(mode=0o600)
        (end.folder / "key").write_text(key)
        end.configuration.write_text(self._configuration(end))

    def _start(self, end: _End, stack: contextlib.ExitStack) -> None:
        argv = [str(self._program), "run", str(end.configuration)]
        process = end.host.popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        end.process = process
        stack.callback(end_and_close, process)
        if process.stdout.readline() != "ready\n":
            stderr = process.communicate()[1].strip()
            kinds: Mapping[int, type[FlightpathError]] = {2: UsageError, 3: MissingCapability}
            raise kinds.get(process.returncode, FlightpathError)(f"{end.host.name}: {stderr}")
        self._set_routes(end)

    def _set_routes(self, end: _End) -> None:
        """Replaces the kernel's routes to the networks inside by ones with the host's congestion control."""
        algorithm = end.host.congestion_control
        if algorithm is None:
            return
        for network in self.networks:
            route = ["route", "replace", str(network), "dev", self.device, "src", str(network[end.number])]
            metric = ["metric", "256"] if network.version == 6 else []
            end.host.run(["ip", f"-{network.version}", *route, *metric, "congctl", algorithm])

    def _configuration(self, end: _End) -> str:
        spec = self.spec
        addresses = [f"{network[end.number]}/{network.prefixlen}" for network in self.networks]
        sections = [
            _section(
                "tunnel",
                device=self.device,
                addresses=", ".join(addresses),
                key_file="key",
                control=end.control,
                port=spec.port,
                offloads=spec.offloads,
                **({"mtu": spec.mtu_bytes} if spec.mtu_bytes else {}),
            ),
            _section("scheduling", scheduler=spec.scheduler, run=spec.run, weights=spec.weights),
            _section(
                "reordering", mode=spec.reordering, window=spec.window_packets, max_delay_ms=spec.max_delay_s * 1e3
            ),
            _section(
                "keepalive", enabled=spec.keepalives, interval_ms=spec.interval_s * 1e3, dead_ms=spec.dead_s * 1e3
            ),
            *(self._path(end, number) for number in range(len(self.paths))),
        ]
        return "\n".join(sections)

    def _path(self, end: _End, number: int) -> str:
        other = self._hosts[end.number % 2]
        weights = self.spec.path_weights
        port = self.paths[number]
        return _section(
            "path",
            name=f"path{number + 1}",
            local=_address(end.host, port, self.spec.family),
            remote=_address(other, port, self.spec.family),
            device=end.host.intfs[port].name,
            weight=float(weights[number]) if number < len(weights) else 1.0,
            backup=number in self.spec.backups,
        )

    def _network(self, family: int) -> IPv4Network | IPv6Network:
        return next(network for network in self.networks if network.version == family)

    def _end_of(self, host: MultihomedHost) -> _End:
        return self._ends[self._hosts.index(host)]

    def _ask(self, end: _End, request: str) -> dict[str, Any]:
        self.check()
        name = end.host.name
        return control_socket.ask(
            end.control, request, program=f"the tunnel of {name}", subject=f"tunnel {self.device} of {name}"
        )


def _common_ports(client: MultihomedHost, server: MultihomedHost, family: int) -> list[int]:
    def ports(host: MultihomedHost) -> set[int]:
        return {
            port
            for port, addresses in host.addresses.items()
            if any(address.version == family for address in addresses)
        }

    common = sorted(ports(client) & ports(server))
    if not common:
        raise UsageError(
            f"{client.name} and {server.name} have no port in common with an address of IPv{family}",
            "give both hosts such addresses, or choose the other family for the paths",
        )
    return common


def _address(host: MultihomedHost, port: int, family: int) -> str:
    return next(str(address.ip) for address in host.addresses[port] if address.version == family)


def _section(name: str, /, **settings: Any) -> str:
    """A section of the configuration file."""
    lines = (f"{key} = {str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items())
    return "\n".join([f"[{name}]", *lines]) + "\n"
