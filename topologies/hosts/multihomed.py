"""Hosts with several addresses, each with its own routing table, so that its packets leave over its own path."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface, ip_address, ip_interface, ip_network
from pathlib import Path
from typing import Any

from mininet.node import Host

from flightpath.commands import run
from flightpath.overrides import override
from topologies.hosts.nodes import LazyShellNode
from topologies.sandbox import kernel_settings

_FIRST_TABLE = 101

LARGE_TCP_BUFFERS: Mapping[str, str] = {
    # 10 Gb/s x 100 ms are 125 MB in flight. The kernel offers half of the receive buffer as the window, and the send
    # buffer also holds the overhead of each segment: so twice the product, rounded up to 256 MiB.
    "net.ipv4.tcp_rmem": "4096 131072 268435456",
    "net.ipv4.tcp_wmem": "4096 65536 268435456",
}
"""Sysctls for bulk transfers: the kernel may grow TCP buffers to the size that 10 Gb/s over 100 ms needs."""

KERNEL_TCP_BUFFERS: Mapping[str, str] = {
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
}
"""Sysctls of an untuned kernel on a machine with at least 4 GB of memory (tcp(7)); with less, they are smaller."""


@dataclass(frozen=True)
class Endpoint:
    """An address that a host offers to MPTCP's path manager (ip-mptcp(8)).

    Attributes:
        address: address without its prefix length.
        flags: `signal` (announced to the peer, which then opens a subflow to it), `subflow` (source address of
            additional subflows), `backup`, `fullmesh`.
    """

    address: str
    flags: tuple[str, ...] = ("signal",)


@dataclass(frozen=True)
class Route:
    """A static route of a host over one of its interfaces.

    Attributes:
        network: destination with its prefix length.
        gateway: next router's address.
        port: number of the interface.
        metric: of several routes to a network, connections without a source address take the one with the least.
    """

    network: str
    gateway: str
    port: int
    metric: int = 1


class MultihomedHost(LazyShellNode, Host):
    """A Mininet host with any number of interfaces and addresses.

    Args:
        addresses: for each port number, the interface's IPv4 and IPv6 addresses with prefix length.
        endpoints: addresses that MPTCP may use besides the connection's own.
        subflows: maximum number of additional subflows of a connection (limits of ip-mptcp(8)).
        accepted_addresses: maximum number of announced addresses to which this host opens a subflow; 0 for a server,
            since its own attempt to reach a client's address would take the place of the client's subflow.
        congestion_control: algorithm of all connections of this host, set on its routes; None is the kernel's default.
        receive_buffer_bytes: fixed receive buffer of each connection, as with SO_RCVBUF (socket(7)); the window is
            about as large. None lets the kernel size it.
        sysctls: additional settings of the host's network namespace.
        routes: to networks behind routers; packets from an interface's address use those of that interface.
        forwards: it is a router.
        segment_early: segment TCP's data before it leaves the host. This is slow, but the user datapath of Open vSwitch
            3.1 segments GSO packets as if TCP had no options: with MPTCP's options the packets exceed the MTU, and the
            next switch drops them.
    """

    def __init__(
        self,
        name: str,
        *,
        addresses: Mapping[int, Sequence[str]] | None = None,
        endpoints: Sequence[Endpoint] = (),
        subflows: int = 0,
        accepted_addresses: int = 0,
        congestion_control: str | None = None,
        receive_buffer_bytes: int | None = None,
        sysctls: Mapping[str, str | int] | None = None,
        routes: Sequence[Route] = (),
        forwards: bool = False,
        segment_early: bool = False,
        **params: Any,
    ) -> None:
        self.addresses = {port: tuple(map(ip_interface, texts)) for port, texts in (addresses or {}).items()}
        self.endpoints = tuple(endpoints)
        self.subflows = subflows
        self.accepted_addresses = accepted_addresses
        self.congestion_control = congestion_control
        self.routes = tuple(routes)
        self.forwards = forwards
        forwarding = _FORWARDING if forwards else {}
        self.sysctls = {**_SYSCTLS, **forwarding, **(sysctls or {}), **_fixed_buffers(receive_buffer_bytes)}
        self.segment_early = segment_early
        super().__init__(name, **{**params, "ip": None})
        with kernel_settings.inside(self):
            kernel_settings.write_sysctls(_BEFORE_INTERFACES)

    @override
    def popen(self, *args: Any, **kwargs: Any) -> subprocess.Popen[Any]:
        """Starts a program in its own session, so that a Ctrl-C in the terminal does not reach it.

        It enters only the host's network namespace. Mininet's `mnexec -a` also enters the mount namespace, which
        leaves a chroot, and `mnexec -d` may fork, so that the process seems to end at once.
        """
        return super().popen(*args, **{**kwargs, "mncmd": kernel_settings.entry(self), "start_new_session": True})

    def run(self, argv: Sequence[str], *, timeout_s: float = 60, stdin: str | Path = "") -> str:
        """Runs a program in this host to its end and returns its stdout; raises as `flightpath.commands.run` does."""
        return run([*kernel_settings.entry(self), *argv], timeout_s=timeout_s, stdin=stdin)

    def address(self, port: int = 0) -> str:
        """Returns the first address of an interface, without its prefix length."""
        return str(self.addresses[port][0].ip)

    def next_hop(self, target: str, port: int | None = None) -> tuple[int, str] | None:
        """Returns the port and the address to which this host sends what is for an address; None: it has no route.

        Args:
            target: an address without its prefix length.
            port: of the interface from whose address it is sent, which is preferred.
        """
        address = ip_address(target)
        for number in sorted(self.addresses, key=lambda number: number != port):
            if any(address in interface.network for interface in self.addresses[number]):
                return number, target
        fitting = [route for route in self.routes if address in ip_network(route.network)]
        best = min(fitting, key=lambda route: (port is not None and route.port != port, route.metric), default=None)
        return (best.port, best.gateway) if best else None

    @override
    def config(self, **params: Any) -> dict[str, Any]:
        """Sets addresses, routes, MPTCP endpoints and sysctls, with a fixed number of commands."""
        with kernel_settings.inside(self):
            kernel_settings.write_sysctls(self.sysctls)
            run(["ip", "-batch", "-"], stdin="\n".join(self._ip_commands()))
            if rules := self._rules(6):  # ip(8) does not infer the family from a rule's address
                run(["ip", "-6", "-batch", "-"], stdin="\n".join(rules))
            if self.segment_early:
                for port in self.addresses:
                    run(["ethtool", "-K", self.intfs[port].name, "tso", "off"])
        for port, interfaces in self.addresses.items():
            # Mininet's own commands (pingall) take the address from the interface object.
            first = next((i for i in interfaces if i.version == 4), None)
            if first is not None:
                self.intfs[port].ip, self.intfs[port].prefixLen = str(first.ip), first.network.prefixlen
        return {}

    def _ip_commands(self) -> list[str]:
        lines = ["link set dev lo up"]
        lines += [f"link set dev {self.intfs[port].name} up" for port in self.addresses]
        congestion = f" congctl {self.congestion_control}" if self.congestion_control else ""
        for device, interface, table in self._tables():
            nodad = " nodad" if interface.version == 6 else ""
            route = f"{interface.network} dev {device} src {interface.ip}{congestion}"
            lines += [f"address add {interface} dev {device} noprefixroute{nodad}", f"route replace {route}"]
            if self._needs_tables:
                lines.append(f"route replace {route} table {table}")
        lines += self._gateway_routes(congestion)
        lines += self._rules(4)
        lines.append(f"mptcp limits set subflow {self.subflows} add_addr_accepted {self.accepted_addresses}")
        lines += [
            f"mptcp endpoint add {endpoint.address} dev {self._device_of(endpoint.address)} {' '.join(endpoint.flags)}"
            for endpoint in self.endpoints
        ]
        return lines

    def _gateway_routes(self, congestion: str) -> list[str]:
        lines = []
        for route in self.routes:
            device, version = self.intfs[route.port].name, ip_network(route.network).version
            via = f"route replace {route.network} via {route.gateway} dev {device} metric {route.metric}{congestion}"
            lines.append(via)
            if self._needs_tables:
                tables = [table for name, it, table in self._tables() if (name, it.version) == (device, version)]
                lines += [f"{via} table {table}" for table in tables]
        return lines

    @property
    def _needs_tables(self) -> bool:
        """Whether packets can leave over a wrong interface. Rules that are not needed would slow down each lookup."""
        return len(self.addresses) > 1

    def _rules(self, version: int) -> list[str]:
        if not self._needs_tables:
            return []
        return [f"rule add from {it.ip} table {table}" for _, it, table in self._tables() if it.version == version]

    def _tables(self) -> list[tuple[str, IPv4Interface | IPv6Interface, int]]:
        """Returns each address with its device and the number of its routing table."""
        addresses = [(self.intfs[port].name, it) for port, interfaces in self.addresses.items() for it in interfaces]
        return [(device, it, table) for table, (device, it) in enumerate(addresses, start=_FIRST_TABLE)]

    def _device_of(self, address: str) -> str:
        for device, interface, _table in self._tables():
            if str(interface.ip) == address:
                return device
        raise ValueError(f"{self.name} has no address {address}")


def _fixed_buffers(receive_bytes: int | None) -> Mapping[str, str | int]:
    """Returns sysctls for a fixed buffer, doubled as by SO_RCVBUF; the kernel drops a limit on the routes."""
    if receive_bytes is None:
        return {}
    return {"net.ipv4.tcp_moderate_rcvbuf": 0, "net.ipv4.tcp_rmem": f"4096 {2 * receive_bytes} {2 * receive_bytes}"}


_SYSCTLS: Mapping[str, str | int] = {
    # On some kernels a namespace inherits the sandbox's setting, which turns IPv6 off.
    "net.ipv6.conf.all.disable_ipv6": 0,
    "net.ipv6.conf.default.disable_ipv6": 0,
    # An address answers only on its own interface, or a path could be reached through another's link.
    "net.ipv4.conf.all.arp_ignore": 1,
    "net.ipv4.conf.all.arp_announce": 2,
    # A connection must not start with the metrics of an earlier one.
    "net.ipv4.tcp_no_metrics_save": 1,
    # After a suspected black hole the kernel would turn MPTCP off for an hour.
    "net.mptcp.blackhole_timeout": 0,
    "net.core.somaxconn": 8192,
    "net.ipv4.tcp_max_syn_backlog": 8192,
    "net.ipv4.ip_local_port_range": "10000 65000",
}


_BEFORE_INTERFACES: Mapping[str, str | int] = {
    # While a link-local address is tentative (up to 3 s; RFC 4862, 5.4), a router asks no neighbour for what it
    # forwards, and drops it.
    "net.ipv6.conf.default.accept_dad": 0,
}
_FORWARDING: Mapping[str, str | int] = {"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1}


def plane_addresses(plane: int, number: int) -> tuple[str, str]:
    """Returns a host's IPv4 and IPv6 address, with prefix lengths, in a plane's subnet; both numbers count from 1."""
    return f"10.0.{plane}.{number}/24", f"fd00:{plane}::{number:x}/64"


def announced(planes: int, number: int, family: int = 4, flags: Sequence[str] = ("signal",)) -> tuple[Endpoint, ...]:
    """Returns endpoints for all of a host's addresses of one family; the kernel announces those not in use yet."""
    texts = (plane_addresses(plane + 1, number)[0 if family == 4 else 1] for plane in range(planes))
    return tuple(Endpoint(text.partition("/")[0], tuple(flags)) for text in texts)


def mac(kind: int, plane: int, number: int) -> str:
    """Returns a locally administered MAC address from which its owner can be read."""
    return f"02:00:00:{kind:02x}:{plane:02x}:{number:02x}"
