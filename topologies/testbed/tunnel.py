"""A multipath tunnel (`native/tunnel`) between two hosts, over all paths that they share."""

import contextlib
import secrets
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Self

import native
from flightpath.commands import end_and_close
from flightpath.errors import MissingCapability, UsageError
from flightpath.waiting import wait_until
from topologies.hosts.multihomed import MultihomedHost
from topologies.links import native_program
from topologies.sandbox.kernel_settings import entry

DEVICE = "mpt0"
_KNOWN = {
    "family": (4, 6),
    "scheduler": ("wrr", "rtt", "redundant", "flowhash"),
    "weights": ("fixed", "adaptive"),
    "reordering": ("off", "fixed", "adaptive"),
}
_UP_TIMEOUT_S = 15
_CONFIGURATION, _CONTROL = "tunnel.conf", "control"


@dataclass(frozen=True)
class TunnelSpec:
    """Settings of a tunnel, with the names and defaults of `mptgre --help`.

    Attributes:
        family: IP version of its paths.
        run: consecutive packets on a path (`wrr`); 0 derives it from the rate.
        path_weights: weights of the paths in order; 1 for those without one.
        backups: indices of the paths that are used only while no other path is up.
        reordering: `off`, `fixed` (wait `max_delay_s` for a missing packet) or `adaptive` (wait until each path has
            delivered a later one; with `wrr`, delay packets from shorter paths to match the longest).
        window_packets, max_delay_s: size of the reordering buffer, and the longest wait in it.
        keepalives: send authenticated messages that show which paths are up; otherwise all paths count as up.
        interval_s, dead_s: time between keepalives, and the silence after which a path is down.
        offloads: use GSO packets; otherwise each system call handles one packet.
        service_time_s: model of a slow processor, for virtual time: each packet keeps the thread that sends or receives
            it busy for so long, at both ends; 0 for none.
        mtu_bytes: upper limit of the interface's MTU; None derives it from the paths only.
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
    service_time_s: float = 0.0
    mtu_bytes: int | None = None
    port: int = 4754

    def __post_init__(self) -> None:
        for name, known in _KNOWN.items():
            if getattr(self, name) not in known:
                forms = ", ".join(map(str, known))
                raise UsageError(f"{name}: {getattr(self, name)!r} is unknown", f"choose one of {forms}")


@dataclass(frozen=True)
class _End:
    host: MultihomedHost
    folder: Path
    process: subprocess.Popen[str]


class Tunnel:
    """A context manager that runs a tunnel and gives both hosts an interface to each other.

    On entry it waits until each end hears the other on every path. Both processes end with the block, or earlier with
    the thread that started them.

    Args:
        client, server: hosts that have an address of the paths' family on the same ports; each such port is a path,
            named `path1`, `path2` and so on.
        networks: networks inside the tunnel; the client has the first address of each, the server the second.
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
        """Starts both ends."""
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flightpath-tunnel-")))
            key = secrets.token_hex(32)
            for number, host in enumerate(self._hosts, start=1):
                self._configure(host, number, folder / host.name, key)
                self._ends.append(self._start(host, number, folder / host.name, stack))
                stack.callback(self._ends.pop)
            if self.spec.keepalives:
                wait_until(self.is_up, f"tunnel {self.device} to be up on every path", _UP_TIMEOUT_S, check=self.check)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends both processes, which removes their interfaces."""
        self._stack.close()

    def address(self, host: MultihomedHost, family: int = 4) -> str:
        [network] = (network for network in self.networks if network.version == family)
        return str(network[self._hosts.index(host) + 1])

    def stats(self, host: MultihomedHost) -> dict[str, Any]:
        """Returns a host's statistics (`native/tunnel/requests.h`); raises MeasurementFailed if its end has ended."""
        return self._ask(host, "stats")

    def is_up(self) -> bool:
        """Returns whether each end hears the other on every path."""
        return all(path["state"] == "up" for host in self._hosts for path in self.stats(host)["paths"])

    def set_path(self, path: int, *hosts: MultihomedHost, **settings: float | bool) -> None:
        """Changes a path while packets flow.

        Args:
            hosts: ends to change; both by default.
            settings: weight (0.001 to 1000000), backup, enabled.

        Raises:
            FlightpathError: there is no such path or setting, or the value is out of bounds.
        """
        text = ",".join(f"{key}={int(value) if isinstance(value, bool) else value}" for key, value in settings.items())
        for host in hosts or self._hosts:
            self._ask(host, f"set path{path + 1} {text}")

    def cpu_seconds(self, host: MultihomedHost) -> float:
        """Returns the CPU time used by a host's end, including its system calls."""
        return sum(self.stats(host)["cpu_ns"].values()) / 1e9

    def service_seconds(self, host: MultihomedHost) -> float:
        """Returns the service time that packets have taken at a host's end; 0 if they have none."""
        return sum(self.stats(host)["service_ns"].values()) / 1e9

    def check(self) -> None:
        for end in self._ends:
            native_program.check(end.process, f"the tunnel {self.device} of {end.host.name}")

    def _configure(self, host: MultihomedHost, number: int, folder: Path, key: str) -> None:
        folder.mkdir(mode=0o700)
        (folder / "key").touch(mode=0o600)
        (folder / "key").write_text(key)
        (folder / _CONFIGURATION).write_text(self._configuration(host, number, folder / _CONTROL))

    def _start(self, host: MultihomedHost, number: int, folder: Path, stack: contextlib.ExitStack) -> _End:
        argv = [str(self._program), "run", str(folder / _CONFIGURATION)]
        process = native_program.start([*entry(host), *argv])
        stack.callback(end_and_close, process)
        native_program.wait_ready(process, host.name, UsageError, MissingCapability)
        if host.congestion_control is not None:
            self._set_routes(host, number, host.congestion_control)
        return _End(host, folder, process)

    def _set_routes(self, host: MultihomedHost, number: int, algorithm: str) -> None:
        """Replaces the kernel's routes into the tunnel by routes with the host's congestion control."""
        for network in self.networks:
            route = ["route", "replace", str(network), "dev", self.device, "src", str(network[number])]
            metric = ["metric", "256"] if network.version == 6 else []
            host.run(["ip", f"-{network.version}", *route, *metric, "congctl", algorithm])

    def _configuration(self, host: MultihomedHost, number: int, control: Path) -> str:
        spec = self.spec
        addresses = [f"{network[number]}/{network.prefixlen}" for network in self.networks]
        sections = [
            _section(
                "tunnel",
                device=self.device,
                addresses=", ".join(addresses),
                key_file="key",
                control=control,
                port=spec.port,
                offloads=spec.offloads,
                **({"mtu": spec.mtu_bytes} if spec.mtu_bytes else {}),
                **({"service_time_us": 1e6 * spec.service_time_s} if spec.service_time_s else {}),
            ),
            _section("scheduling", scheduler=spec.scheduler, run=spec.run, weights=spec.weights),
            _section(
                "reordering", mode=spec.reordering, window=spec.window_packets, max_delay_ms=1e3 * spec.max_delay_s
            ),
            _section(
                "keepalive", enabled=spec.keepalives, interval_ms=1e3 * spec.interval_s, dead_ms=1e3 * spec.dead_s
            ),
            *(self._path(host, path) for path in range(len(self.paths))),
        ]
        return "\n".join(sections)

    def _path(self, host: MultihomedHost, path: int) -> str:
        port, weights = self.paths[path], self.spec.path_weights
        [other] = (it for it in self._hosts if it is not host)
        return _section(
            "path",
            name=f"path{path + 1}",
            local=_address(host, port, self.spec.family),
            remote=_address(other, port, self.spec.family),
            device=host.intfs[port].name,
            weight=float(weights[path]) if path < len(weights) else 1.0,
            backup=path in self.spec.backups,
        )

    def _ask(self, host: MultihomedHost, request: str) -> dict[str, Any]:
        self.check()
        end, name = self._ends[self._hosts.index(host)], host.name
        return native_program.ask(
            end.folder / _CONTROL,
            request,
            process=end.process,
            program=f"the tunnel {self.device} of {name}",
            subject=f"tunnel {self.device} of {name}",
        )


def _common_ports(client: MultihomedHost, server: MultihomedHost, family: int) -> list[int]:
    ports = [
        {port for port, addresses in host.addresses.items() if any(it.version == family for it in addresses)}
        for host in (client, server)
    ]
    common = sorted(set.intersection(*ports))
    if not common:
        raise UsageError(
            f"{client.name} and {server.name} have no port in common with an address of IPv{family}",
            "give both hosts such addresses, or choose the other family for the paths",
        )
    return common


def _address(host: MultihomedHost, port: int, family: int) -> str:
    return next(str(address.ip) for address in host.addresses[port] if address.version == family)


def _section(name: str, /, **settings: Any) -> str:
    """Formats a section of the configuration file."""
    lines = (f"{key} = {str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items())
    return "\n".join([f"[{name}]", *lines]) + "\n"
