"""Discovery of switches, links and hosts in a network without a description.

Links are discovered by probes (`forwarding.link_probes`), as LLDP does it: a switch receives what another has sent.
Hosts are discovered by what they must send before they can be reached: ARP (RFC 826) and neighbour discovery (RFC
4861). What a hostile host can claim is limited: a number of addresses per port, and none that another host uses. A link
needs probes that cross it both ways without delay: one that was kept and sent again elsewhere makes none. A
host with two ports that at once passes on what it receives at either is a cable like any other.

Nothing here does any I/O: observations come in, a `Network` comes out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from math import inf

from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from controllers.openflow.labels import Labels

SETTLING_S = 0.5
"""Time that a port must be up without receiving a probe before it counts as a host's."""

ADDRESS_HELD_S = 60.0
"""Time after its owner's last frame for which no other host can claim an IP address."""

MAC_HELD_S = 5.0
"""Time after its last frame for which a host cannot appear at another port, unless its cable was cut."""

LINK_TRAVEL_S = 1.0
"""Maximum travel time of probes that reveal a link; a host that keeps one and sends it elsewhere takes longer."""

BOTH_WAYS_WITHIN_S = 5.0
"""Maximum time between two probes that cross a link in opposite directions."""

MACS_PER_PORT, ADDRESSES_PER_MAC = 64, 16

_ARP = b"\x08\x06"
_IPV6 = b"\x86\xdd"
_ICMPV6, _SOLICITATION, _ADVERTISEMENT = 58, 135, 136


@dataclass(frozen=True)
class Neighbour:
    """The sender of an ARP packet or a message of neighbour discovery, and the address whose owner it looks for."""

    mac: str
    address: str | None
    wanted: str | None


def parse_neighbour(frame: bytes) -> Neighbour | None:
    """Returns the content of an ARP or neighbour discovery frame; None if it is another one."""
    mac = frame[6:12].hex(":")
    if frame[12:14] == _ARP and len(frame) >= 42 and frame[22:28] == frame[6:12]:
        sender, target = (str(IPv4Address(frame[at : at + 4])) for at in (28, 38))
        return Neighbour(mac, _usable(sender), target if frame[20:22] == b"\0\1" else None)
    if frame[12:14] == _IPV6 and len(frame) >= 78 and frame[20] == _ICMPV6:
        sender, target = (str(IPv6Address(frame[at : at + 16])) for at in (22, 62))
        if frame[54] == _SOLICITATION:
            return Neighbour(mac, _usable(sender), target)
        if frame[54] == _ADVERTISEMENT:
            return Neighbour(mac, _usable(target), None)
    return None


@dataclass
class _HostInterface:
    """A discovered interface of a host; `addresses` are its IP addresses, each with the time of its last frame."""

    at: SwitchPort
    heard_s: float
    addresses: dict[str, float] = field(default_factory=dict)


class Discovery:
    """The network as far as it has been discovered. No host can have a label as its address.

    Attributes:
        version: changes whenever `network` changes.
        refused: claims of hosts that were not accepted.
    """

    def __init__(self, labels: Labels) -> None:
        self.version = 0
        self.refused = 0
        self._labels = labels
        self._switches: dict[int, Switch] = {}
        self._ports: dict[SwitchPort, float] = {}
        self._links: dict[SwitchPort, SwitchPort] = {}
        self._crossings: dict[SwitchPort, tuple[SwitchPort, float]] = {}
        self._hosts: dict[str, _HostInterface] = {}

    @property
    def network(self) -> Network:
        """The network as far as it is known; each MAC address counts as a host."""
        links = [Link(a, b) for a, b in self._links.items() if (a.switch, a.port) < (b.switch, b.port)]
        hosts = [
            Host(mac, (Interface(mac, mac, tuple(it.addresses), it.at.switch, it.at.port),))
            for mac, it in sorted(self._hosts.items())
        ]
        return Network(tuple(self._switches.values()), tuple(hosts), tuple(links))

    def add_switch(self, dpid: int) -> None:
        """Adds a switch that has connected; it is named as Mininet names switches, `s1` for dpid 1."""
        if dpid not in self._switches:
            self._switches[dpid] = Switch(f"s{dpid}", dpid)
            self.version += 1

    def set_port(self, at: SwitchPort, up: bool, now_s: float) -> None:
        if not up:
            self._ports.pop(at, None)
        else:
            self._ports.setdefault(at, now_s)

    def ports(self) -> Iterator[tuple[str, int]]:
        """Yields all ports that are up, by switch and number; each of them may lead to a switch."""
        return ((at.switch, at.port) for at in self._ports)

    def access_ports(self, now_s: float) -> Iterator[SwitchPort]:
        """Yields all ports that are up and lead to hosts."""
        return (at for at in self._ports if self.is_access(at, now_s))

    def is_access(self, at: SwitchPort, now_s: float) -> bool:
        """Returns whether a port leads to hosts, not to a switch."""
        return at not in self._links and now_s - self._ports.get(at, now_s) >= SETTLING_S

    def note_crossing(self, a: SwitchPort, b: SwitchPort, travel_s: float, now_s: float) -> None:
        """Notes that a probe has come from one port to another; when one has come back too, there is a link."""
        if self._links.get(a) == b or a.switch == b.switch or travel_s > LINK_TRAVEL_S:
            return
        self._crossings[a] = b, now_s
        to, when_s = self._crossings.get(b, (None, 0.0))
        if to == a and now_s - when_s <= BOTH_WAYS_WITHIN_S:
            del self._crossings[a], self._crossings[b]
            self.add_link(a, b)

    def add_link(self, a: SwitchPort, b: SwitchPort) -> None:
        """Adds a link; it replaces other links of these ports."""
        if self._links.get(a) == b:
            return
        for end in (a, b):
            other = self._links.pop(end, None)
            if other is not None:
                self._links.pop(other, None)
        self._links[a], self._links[b] = b, a
        self._hosts = {mac: it for mac, it in self._hosts.items() if it.at not in (a, b)}
        self.version += 1

    def add_host(self, mac: str, address: str | None, at: SwitchPort, now_s: float) -> None:
        """Notes that a frame from this MAC address (and IP address) has entered at a port."""
        if not self.is_access(at, now_s):
            return
        interface = self._hosts.get(mac)
        if interface is None or interface.at != at:
            if not self._may_appear(mac, interface, at, now_s):
                self.refused += 1
                return
            interface = self._hosts[mac] = _HostInterface(at, now_s, interface.addresses if interface else {})
            self.version += 1
        interface.heard_s = now_s
        if address is not None:
            self._claim(mac, interface, address, now_s)

    def restore_host(self, mac: str, addresses: Iterator[str], at: SwitchPort, now_s: float) -> None:
        """Adds a host that was discovered before this process started, unless newer observations contradict it."""
        if mac in self._hosts or at in self._links:
            return
        self._hosts[mac] = interface = _HostInterface(at, now_s)
        for address in addresses:
            self._claim(mac, interface, address, now_s)
        self.version += 1

    def owner(self, address: str) -> str | None:
        return next((mac for mac, interface in self._hosts.items() if address in interface.addresses), None)

    def _claim(self, mac: str, interface: _HostInterface, address: str, now_s: float) -> None:
        owner = self.owner(address)
        if owner != mac:
            heard_s = self._hosts[owner].addresses[address] if owner else -inf
            if now_s - heard_s < ADDRESS_HELD_S or (not owner and len(interface.addresses) >= ADDRESSES_PER_MAC):
                self.refused += 1
                return
            if owner:
                del self._hosts[owner].addresses[address]
            self.version += 1
        interface.addresses[address] = now_s

    def _may_appear(self, mac: str, before: _HostInterface | None, at: SwitchPort, now_s: float) -> bool:
        if int(mac[:2], 16) & 1 or mac == "00:00:00:00:00:00" or self._labels.is_label(mac):
            return False
        if sum(interface.at == at for interface in self._hosts.values()) >= MACS_PER_PORT:
            return False
        return before is None or before.at not in self._ports or now_s - before.heard_s >= MAC_HELD_S


def _usable(address: str) -> str | None:
    ip = IPv6Address(address) if ":" in address else IPv4Address(address)
    return None if ip.is_unspecified or ip.is_multicast or ip.is_loopback else address
