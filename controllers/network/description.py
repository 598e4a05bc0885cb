"""The description of an emulated network: switches, hosts and the links between switches.

The testbed builds a `Network` and writes it with `to_json`; `controllers.network.reading` reads it. Objects with
impossible values cannot be built: they raise a `DescriptionError`.
"""

import ipaddress
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

from controllers.network.address_blocks import InterfaceGroups
from controllers.network.next_hops import NextHops
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean

LARGEST_PORT = 65279
"""Open vSwitch numbers its ports from 1 to this one (ovs-vswitchd.conf.db(5), ofport_request)."""

LARGEST_DPID = 2**64 - 1
LARGEST_CAPACITY_BPS = 10**15
LARGEST_DELAY_US = 30 * 86_400 * 1_000_000

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


class DescriptionError(UsageError, ValueError):
    """An impossible value; the message starts with its place, to which pydantic adds the rest: `hosts[0].name: ...`."""


class _Described:
    """Base of the parts of a description: in JSON their types must be exact, and unknown keys are refused."""

    __pydantic_config__: ClassVar = {"strict": True, "extra": "forbid"}


@dataclass(frozen=True)
class Switch(_Described):
    """An OpenFlow switch."""

    name: str
    dpid: int

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not 1 <= self.dpid <= LARGEST_DPID:
            raise DescriptionError(f"dpid: {self.dpid} is not between 1 and 2^64-1")


@dataclass(frozen=True)
class SwitchPort(_Described):
    """A port of a switch, by the switch's name and the OpenFlow port number."""

    switch: str
    port: int

    def __post_init__(self) -> None:
        if not 1 <= self.port <= LARGEST_PORT:
            raise DescriptionError(f"port: {self.port} is not between 1 and {LARGEST_PORT}")

    def __str__(self) -> str:
        return f"port {self.port} of {self.switch}"


@dataclass(frozen=True)
class Interface(_Described):
    """A host's network interface, and the switch port that it is plugged into.

    Args:
        mac: `02:00:00:00:00:01`; converted to lower case.
        addresses: IPv4 and IPv6 addresses without prefix length; converted to their canonical form.
    """

    name: str
    mac: str
    addresses: tuple[str, ...]
    switch: str
    port: int

    def __post_init__(self) -> None:
        _check_name(self.name)
        SwitchPort(self.switch, self.port)
        object.__setattr__(self, "mac", _canonical_mac(self.mac))
        object.__setattr__(self, "addresses", tuple(_canonical_addresses(self.addresses)))

    @property
    def plugged_into(self) -> SwitchPort:
        return SwitchPort(self.switch, self.port)


@dataclass(frozen=True)
class Host(_Described):
    """A host with its interfaces, often one per path."""

    name: str
    interfaces: tuple[Interface, ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_unique("interface", ((f"interfaces[{i}].name", it.name) for i, it in enumerate(self.interfaces)))


@dataclass(frozen=True)
class Link(_Described):
    """A link between two switches, for both directions.

    Args:
        capacity_bps: of its slower direction; None: unknown or unlimited.
        delay_us: one way, of its slower direction; None: unknown.
    """

    a: SwitchPort
    b: SwitchPort
    capacity_bps: int | None = None
    delay_us: int | None = None

    def __post_init__(self) -> None:
        if self.capacity_bps is not None and not 0 < self.capacity_bps <= LARGEST_CAPACITY_BPS:
            raise DescriptionError(f"capacity_bps: {self.capacity_bps} is not between 1 and 10^15")
        if self.delay_us is not None and not 0 <= self.delay_us <= LARGEST_DELAY_US:
            raise DescriptionError(f"delay_us: {self.delay_us} is not between 0 and 30 days")
        if self.a.switch == self.b.switch:
            raise DescriptionError(f"b.switch: both ends of the link are on {self.a.switch!r}")


@dataclass(frozen=True)
class Network(_Described):
    """Switches, hosts and the links between switches. Not all of them need to be connected with each other.

    Several interfaces may share a port of a switch (behind a hub, or as guests of a virtual machine's host).
    """

    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...] = ()
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        switches = [(f"switches[{i}]", it) for i, it in enumerate(self.switches)]
        hosts = [(f"hosts[{i}]", it) for i, it in enumerate(self.hosts)]
        interfaces = [(f"{place}.interfaces[{i}]", it) for place, host in hosts for i, it in enumerate(host.interfaces)]
        link_ends = [(f"links[{i}].{end}", getattr(it, end)) for i, it in enumerate(self.links) for end in ("a", "b")]
        _check_unique("name", ((f"{place}.name", it.name) for place, it in switches + hosts))
        _check_unique("dpid", ((f"{place}.dpid", it.dpid) for place, it in switches))
        _check_unique("MAC address", ((f"{place}.mac", it.mac) for place, it in interfaces))
        addresses = ((f"{place}.addresses[{i}]", ip) for place, it in interfaces for i, ip in enumerate(it.addresses))
        _check_unique("IP address", addresses)
        ports = [(place, it.plugged_into) for place, it in interfaces]
        names = {switch.name for switch in self.switches}
        for place, port in ports + link_ends:
            if port.switch not in names:
                hint = did_you_mean(port.switch, [switch.name for switch in self.switches])
                raise DescriptionError(f"{place}.switch: there is no switch {port.switch!r}", hint)
        host_ports = {port: place for place, port in reversed(ports)}  # one place for all that share a port
        used = [*((place, port) for port, place in host_ports.items()), *link_ends]
        _check_unique("use", ((f"{place}.port", port) for place, port in used))

    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        return tuple(interface for host in self.hosts for interface in host.interfaces)

    @cached_property
    def next_hops(self) -> NextHops:
        """The shortest paths between its switches."""
        return NextHops(self.links)

    @cached_property
    def groups(self) -> InterfaceGroups:
        """Its interfaces, by switch and place in their hosts."""
        return InterfaceGroups(self.hosts)

    def switch_with_dpid(self, dpid: int) -> Switch | None:
        return next((switch for switch in self.switches if switch.dpid == dpid), None)

    def to_json(self) -> str:
        """Returns the description as text, for `controllers.network.reading`."""
        return json.dumps(asdict(self), indent=1) + "\n"


def _check_name(name: str) -> None:
    if not name or not name.isprintable() or " " in name:
        raise DescriptionError(f"name: {name!r} is not a name: it is empty or contains blanks")


def _canonical_mac(text: str) -> str:
    mac = text.lower()
    if not _MAC.fullmatch(mac):
        raise DescriptionError(f"mac: {text!r} is not a MAC address", "accepted form: 02:00:00:00:00:01")
    if int(mac[:2], 16) & 1 or mac == "00:00:00:00:00:00":
        raise DescriptionError(f"mac: {text!r} cannot be the address of one interface")
    return mac


def _canonical_addresses(addresses: Iterable[str]) -> Iterator[str]:
    for i, text in enumerate(addresses):
        try:
            address = ipaddress.ip_address(text)
        except ValueError as error:
            forms = "accepted forms: 10.0.0.1, fd00::1 (no prefix length, no zone)"
            raise DescriptionError(f"addresses[{i}]: {text!r} is not an IP address", forms) from error
        has_zone = address.version == 6 and address.scope_id is not None
        if has_zone or address.is_multicast or address.is_unspecified or address.is_loopback:
            raise DescriptionError(f"addresses[{i}]: {text!r} cannot be the address of one interface")
        yield str(address)


def _check_unique(what: str, values: Iterable[tuple[str, Any]]) -> None:
    places: dict[Any, str] = {}
    for place, value in values:
        if value in places:
            text = f"of {value}" if isinstance(value, SwitchPort) else repr(value)
            raise DescriptionError(f"{place}: second {what} {text}; the first is at {places[value]}")
        places[value] = place
