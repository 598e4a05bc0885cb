"""The emulated network as the controller sees it: without it the controller would have to guess where hosts are.

The testbed builds a `Network` and writes it with `to_json`; the controller reads it with `load`. Both get the same
checks, so a description that can be built can be read.
"""

import ipaddress
import json
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean

LARGEST_PORT = 65279
"""Open vSwitch numbers its ports from 1 to this one (ovs-vswitchd.conf.db(5), ofport_request)."""

LARGEST_DPID = 2**64 - 1

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "a boolean",
}


@dataclass(frozen=True)
class Switch:
    """An OpenFlow switch.

    Args:
        name: as people call it, for example `s1`.
        dpid: the datapath id by which it introduces itself.

    Raises:
        UsageError: names the field and the value that cannot be.
    """

    name: str
    dpid: int

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not 1 <= self.dpid <= LARGEST_DPID:
            raise UsageError(f"dpid: {self.dpid} is not between 1 and 2^64-1")


@dataclass(frozen=True)
class SwitchPort:
    """A port of a switch, by the switch's name and the OpenFlow port number.

    Raises:
        UsageError: there can be no such port number.
    """

    switch: str
    port: int

    def __post_init__(self) -> None:
        if not 1 <= self.port <= LARGEST_PORT:
            raise UsageError(f"port: {self.port} is not between 1 and {LARGEST_PORT}")

    def __str__(self) -> str:
        return f"port {self.port} of {self.switch}"


@dataclass(frozen=True)
class Interface:
    """A host's network interface and the switch port on the other end of its cable.

    Args:
        name: as in the host, for example `h1-eth0`.
        mac: `02:00:00:00:00:01`; kept in lower case.
        addresses: IPv4 and IPv6 addresses without prefix length; kept in their canonical form.
        switch: name of the switch it is plugged into.
        port: that switch's OpenFlow port number.

    Raises:
        UsageError: names the field and the value that cannot be.
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
        """The switch port on the other end of its cable."""
        return SwitchPort(self.switch, self.port)


@dataclass(frozen=True)
class Host:
    """A host with its interfaces, often one per path.

    Raises:
        UsageError: two of its interfaces have one name.
    """

    name: str
    interfaces: tuple[Interface, ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_unique("interface", ((f"interfaces[{i}].name", it.name) for i, it in enumerate(self.interfaces)))


@dataclass(frozen=True)
class Link:
    """A cable between two switches; it carries both ways.

    Args:
        a, b: its ends.
        capacity_bps: of its slower direction; None is unknown, or unlimited.
        delay_us: one way, of its longer direction; None is unknown.

    Raises:
        UsageError: both ends are on one switch, or a number cannot be.
    """

    a: SwitchPort
    b: SwitchPort
    capacity_bps: int | None = None
    delay_us: int | None = None

    def __post_init__(self) -> None:
        if self.capacity_bps is not None and self.capacity_bps <= 0:
            raise UsageError(f"capacity_bps: {self.capacity_bps} is not more than 0")
        if self.delay_us is not None and self.delay_us < 0:
            raise UsageError(f"delay_us: {self.delay_us} is less than 0")
        if self.a.switch == self.b.switch:
            raise UsageError(f"b.switch: both ends of the link are on {self.a.switch!r}")


@dataclass(frozen=True)
class Network:
    """Switches, hosts and the links between switches. Parts that are not connected with each other are normal.

    Several interfaces may be behind one port of a switch (a hub, or guests of a virtual machine's host).

    Raises:
        UsageError: names the place, for example `hosts[0].interfaces[1].switch`, and what is wrong there.
    """

    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...] = ()
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        nodes = [("switches", s.name) for s in self.switches] + [("hosts", h.name) for h in self.hosts]
        offset = {"switches": 0, "hosts": len(self.switches)}
        _check_unique("name", ((f"{kind}[{i - offset[kind]}].name", name) for i, (kind, name) in enumerate(nodes)))
        _check_unique("dpid", ((f"switches[{i}].dpid", switch.dpid) for i, switch in enumerate(self.switches)))
        placed = list(self._placed_interfaces())
        _check_unique("MAC address", ((f"{place}.mac", interface.mac) for place, interface in placed))
        _check_unique(
            "IP address",
            ((f"{place}.addresses[{i}]", address) for place, it in placed for i, address in enumerate(it.addresses)),
        )
        ports = [(place, interface.plugged_into) for place, interface in placed] + list(self._placed_link_ends())
        _check_switches_exist(ports, [switch.name for switch in self.switches])
        of_hosts = {port: place for place, port in reversed(ports[: len(placed)])}
        used = [*((place, port) for port, place in of_hosts.items()), *self._placed_link_ends()]
        _check_unique("use", ((f"{place}.port", port) for place, port in used))

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """All interfaces of all hosts, in the order of the description."""
        return tuple(interface for host in self.hosts for interface in host.interfaces)

    def switch_with_dpid(self, dpid: int) -> Switch | None:
        """The switch that introduces itself with this datapath id, if the network has one."""
        return next((switch for switch in self.switches if switch.dpid == dpid), None)

    def to_json(self) -> str:
        """The text that `load` and `from_json` read."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str = "network") -> Self:
        """Reads a description.

        Args:
            text: what `to_json` wrote, or a person.
            source: where the text comes from, for the error message.

        Raises:
            UsageError: names the source, the place in it and what is wrong there.
        """
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{source}: not JSON: {error}") from error
        with _at(source, separator=": "):
            return _read(cls, value)

    def _placed_interfaces(self) -> Iterator[tuple[str, Interface]]:
        for i, host in enumerate(self.hosts):
            for j, interface in enumerate(host.interfaces):
                yield f"hosts[{i}].interfaces[{j}]", interface

    def _placed_link_ends(self) -> Iterator[tuple[str, SwitchPort]]:
        for i, link in enumerate(self.links):
            yield f"links[{i}].a", link.a
            yield f"links[{i}].b", link.b


def load(path: Path) -> Network:
    """Reads a description from a file.

    Raises:
        UsageError: the file cannot be read, or describes no network; the message names the place in the file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the network description {path}: {error}") from error
    return Network.from_json(text, source=str(path))


def _check_name(name: str) -> None:
    if not name or not name.isprintable() or " " in name:
        raise UsageError(f"name: {name!r} is not a name: empty, or with blanks in it")


def _canonical_mac(text: str) -> str:
    mac = text.lower()
    if not _MAC.fullmatch(mac):
        raise UsageError(f"mac: {text!r} is not a MAC address", "accepted form: 02:00:00:00:00:01")
    if int(mac[:2], 16) & 1 or mac == "00:00:00:00:00:00":
        raise UsageError(f"mac: {text!r} cannot be the address of one interface")
    return mac


def _canonical_addresses(addresses: Iterable[str]) -> Iterator[str]:
    for i, text in enumerate(addresses):
        try:
            address = ipaddress.ip_address(text)
        except ValueError as error:
            forms = "accepted forms: 10.0.0.1, fd00::1 (no prefix length, no zone)"
            raise UsageError(f"addresses[{i}]: {text!r} is not an IP address", forms) from error
        zone = isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None
        if zone or address.is_multicast or address.is_unspecified or address.is_loopback:
            raise UsageError(f"addresses[{i}]: {text!r} cannot be the address of one interface")
        yield str(address)


def _check_unique(what: str, placed: Iterable[tuple[str, Any]]) -> None:
    seen: dict[Any, str] = {}
    for place, value in placed:
        if value in seen:
            raise UsageError(f"{place}: second {what} {_say(value)}; the first is at {seen[value]}")
        seen[value] = place


def _say(value: Any) -> str:
    return f"of {value}" if isinstance(value, SwitchPort) else repr(value)


def _check_switches_exist(ports: Iterable[tuple[str, SwitchPort]], names: Collection[str]) -> None:
    for place, port in ports:
        if port.switch not in names:
            raise UsageError(f"{place}.switch: there is no switch {port.switch!r}", did_you_mean(port.switch, names))


@contextmanager
def _at(place: str, separator: str = ".") -> Iterator[None]:
    """Puts a place in front of the message of a UsageError raised inside."""
    try:
        yield
    except UsageError as error:
        message = str(error.args[0])
        joint = "" if message.startswith(("[", ":")) else separator
        raise UsageError(f"{place}{joint}{message}", error.hint) from error


def _read(kind: Any, value: Any) -> Any:
    """A value of the kind a type hint asks for: `str`, `int`, `kind | None`, `tuple[kind, ...]`, a dataclass of these.

    Raises:
        UsageError: its message starts with the place within the value.
    """
    if get_origin(kind) is tuple:
        return _read_list(get_args(kind)[0], value)
    if get_origin(kind) is UnionType:
        return None if value is None else _read(get_args(kind)[0], value)
    if kind in (str, int):
        return _expect(kind, value)
    return _read_object(kind, value)


def _read_list(kind: Any, value: Any) -> tuple[Any, ...]:
    items = []
    for i, item in enumerate(_expect(list, value)):
        with _at(f"[{i}]"):
            items.append(_read(kind, item))
    return tuple(items)


def _read_object(kind: Any, value: Any) -> Any:
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    _expect(dict, value)
    for key in value:
        if key not in names:
            raise UsageError(f": unknown key {key!r}", did_you_mean(key, names))
    for name in needed:
        if name not in value:
            raise UsageError(f": the key {name!r} is missing")
    arguments = {}
    for name in filter(value.__contains__, names):
        with _at(name):
            arguments[name] = _read(hints[name], value[name])
    return kind(**arguments)


def _expect(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise UsageError(f": {_KINDS[kind]} is expected here, not {_KINDS.get(type(value), 'null')}")
    return value
