"""A tunnel over all paths between two hosts: without it multipath would be MPTCP's alone, and UDP would have none."""

import contextlib
import json
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
    """How a tunnel works; the keys of `mptgre --help`, with the same defaults.

    Attributes:
        family: 4 or 6: over which of the hosts' addresses its paths run.
        scheduler: `wrr`, `rtt`, `redundant` or `flowhash`.
        run: packets in a row on a path (`wrr`); 0: by the rate.
        weights: `fixed` or `adaptive`.
        path_weights: by path, in order; 1 where there is none.
        backups: numbers of the paths, from 0, that are used only while no other is up.
        reordering: `off`, `fixed` (a missing packet is waited for `max_delay_s`) or `adaptive` (until each path has
            brought a later one; with `wrr`, paths of different delay are made equal to the longest).
        window_packets, max_delay_s: of the reordering buffer.
        keepalives: authenticated, several a second; without them every path is taken to be up.
        interval_s, dead_s: between keepalives; silence after which a path is down.
        offloads: super-packets, in and out; False handles one packet a call.
        mtu_bytes: of the tunnel's interface, at most; None: what the paths allow.
        port: UDP, at both ends.
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
    """One of the two processes."""

    host: MultihomedHost
    number: int
    folder: Path
    process: subprocess.Popen[str] | None = field(default=None)

    @property
    def configuration(self) -> Path:
        return self.folder / "tunnel.toml"

    @property
    def control(self) -> Path:
        return self.folder / "control"


class Tunnel:
    """A context manager: inside it both hosts have an interface over which they reach each other on all paths.

    Ready means that each end has heard the other on every path. Both processes end with the block, and with the thread
    that started them, however that ends.

    Args:
        client, server: hosts with an address of the paths' family on each port that both have; that is a path, named
            `path1`, `path2` and so on.
        spec: how it works.
        device: the name of the interface.
        networks: of the addresses inside; the client has the first of each, the server the second.
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
            UsageError: the configuration is refused; with what `mptgre` says.
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
        """Ends both; their interfaces go with them."""
        self._stack.close()

    def address(self, host: MultihomedHost, family: int = 4) -> str:
        """What the host is called inside the tunnel."""
        return str(self._network(family)[self._hosts.index(host) + 1])

    def stats(self, host: MultihomedHost) -> dict[str, Any]:
        """The counters of the host's end (what they mean: `native/tunnel/requests.h`).

        Raises:
            MeasurementFailed: it has ended.
        """
        return self._ask(self._end_of(host), "stats")

    def is_up(self) -> bool:
        """Whether each end hears the other on every path."""
        return all(path["state"] == "up" for host in self._hosts for path in self.stats(host)["paths"])

    def set_path(self, path: int, *hosts: MultihomedHost, **settings: float | bool) -> None:
        """Changes a path while packets flow.

        Args:
            path: its number, from 0.
            hosts: whose end; both if none is given.
            settings: weight (0.001 to 1000000), backup, enabled.

        Raises:
            FlightpathError: no such path or setting.
        """
        text = ",".join(f"{key}={int(value) if isinstance(value, bool) else value}" for key, value in settings.items())
        for host in hosts or self._hosts:
            self._ask(self._end_of(host), f"set path{path + 1} {text}")

    def cpu_seconds(self, host: MultihomedHost) -> float:
        """Processor time that the host's end has used, what the kernel does in its calls included."""
        return sum(self.stats(host)["cpu_ns"].values()) / 1e9

    def check(self) -> None:
        """Raises MeasurementFailed if an end has ended."""
        for each in self._ends:
            if each.process is None or each.process.poll() is not None:
                code = each.process.returncode if each.process else "none"
                raise MeasurementFailed(f"the tunnel {self.device} of {each.host.name} has ended (exit code {code})")

    def _prepare(self, each: _End, key: str) -> None:
        each.folder.mkdir(mode=0o700)
        (each.folder / "key").touch(mode=0o600)
        (each.folder / "key").write_text(key)
        each.configuration.write_text(self._configuration(each))

    def _start(self, each: _End, stack: contextlib.ExitStack) -> None:
        argv = [str(self._program), "run", str(each.configuration)]
        process = each.host.popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        each.process = process
        stack.callback(end_and_close, process)
        if process.stdout.readline() != "ready\n":
            said = process.communicate()[1].strip()
            kinds: Mapping[int, type[FlightpathError]] = {2: UsageError, 3: MissingCapability}
            raise kinds.get(process.returncode, FlightpathError)(f"{each.host.name}: {said}")
        self._set_routes(each)

    def _set_routes(self, each: _End) -> None:
        """The kernel's own routes to the networks inside, with the host's congestion control."""
        algorithm = each.host.congestion_control
        if algorithm is None:
            return
        for network in self.networks:
            route = ["route", "replace", str(network), "dev", self.device, "src", str(network[each.number])]
            metric = ["metric", "256"] if network.version == 6 else []
            each.host.run(["ip", f"-{network.version}", *route, *metric, "congctl", algorithm])

    def _configuration(self, each: _End) -> str:
        spec = self.spec
        addresses = [f"{network[each.number]}/{network.prefixlen}" for network in self.networks]
        tables = {
            "tunnel": {
                "device": self.device,
                "addresses": addresses,
                "key_file": "key",
                "control": str(each.control),
                "port": spec.port,
                "offloads": spec.offloads,
                **({"mtu": spec.mtu_bytes} if spec.mtu_bytes else {}),
            },
            "scheduling": {"scheduler": spec.scheduler, "run": spec.run, "weights": spec.weights},
            "reordering": {
                "mode": spec.reordering,
                "window": spec.window_packets,
                "max_delay_ms": spec.max_delay_s * 1e3,
            },
            "keepalive": {
                "enabled": spec.keepalives,
                "interval_ms": spec.interval_s * 1e3,
                "dead_ms": spec.dead_s * 1e3,
            },
        }
        text = [_table(f"[{name}]", values) for name, values in tables.items()]
        text += [_table("[[path]]", self._path(each, number)) for number in range(len(self.paths))]
        return "\n".join(text)

    def _path(self, each: _End, number: int) -> dict[str, Any]:
        other = self._hosts[each.number % 2]
        weights = self.spec.path_weights
        port = self.paths[number]
        return {
            "name": f"path{number + 1}",
            "local": _address(each.host, port, self.spec.family),
            "remote": _address(other, port, self.spec.family),
            "device": each.host.intfs[port].name,
            "weight": float(weights[number]) if number < len(weights) else 1.0,
            "backup": number in self.spec.backups,
        }

    def _network(self, family: int) -> IPv4Network | IPv6Network:
        return next(network for network in self.networks if network.version == family)

    def _end_of(self, host: MultihomedHost) -> _End:
        return self._ends[self._hosts.index(host)]

    def _ask(self, each: _End, request: str) -> dict[str, Any]:
        self.check()
        whose = each.host.name
        return control_socket.ask(
            each.control, request, program=f"the tunnel of {whose}", subject=f"tunnel {self.device} of {whose}"
        )


def _common_ports(client: MultihomedHost, server: MultihomedHost, family: int) -> list[int]:
    def ports(host: MultihomedHost) -> set[int]:
        return {port for port, found in host.addresses.items() if any(each.version == family for each in found)}

    common = sorted(ports(client) & ports(server))
    if not common:
        raise UsageError(
            f"{client.name} and {server.name} have no port in common with an address of IPv{family}",
            "give both hosts such addresses, or choose the other family for the paths",
        )
    return common


def _address(host: MultihomedHost, port: int, family: int) -> str:
    return next(str(each.ip) for each in host.addresses[port] if each.version == family)


def _table(header: str, values: Mapping[str, Any]) -> str:
    """TOML: JSON's strings, numbers, booleans and arrays of strings are written alike there."""
    return "\n".join([header, *(f"{key} = {json.dumps(value)}" for key, value in values.items())]) + "\n"
