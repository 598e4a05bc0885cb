"""Finds out who is where in a network that nobody has described: without it steering would need the testbed.

Links are found by probes (`forwarding.link_probes`), as LLDP finds them: what a switch receives another has sent.
Hosts are found by what they must say before anybody can send them anything: ARP (RFC 826) and neighbour discovery (RFC
4861). What a hostile host can make this believe is bounded: so many addresses a port, none that another one uses.

Pure: what is seen comes in, a `Network` goes out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from controllers.openflow.labels import Labels

SETTLING_S = 0.5
"""So long a port that has come up must have heard no probe to count as a host's."""

ADDRESS_HELD_S = 60.0
"""So long after its owner was last heard an address stays its own."""

MAC_HELD_S = 5.0
"""So long after it was last heard a host cannot turn up elsewhere; a cable that was cut lets it at once."""

MACS_PER_PORT, ADDRESSES_PER_MAC = 64, 16

_ARP = b"\x08\x06"
_IPV6 = b"\x86\xdd"
_ICMPV6, _SOLICITATION, _ADVERTISEMENT = 58, 135, 136


@dataclass(frozen=True)
class Neighbour:
    """What an ARP packet or a message of neighbour discovery tells.

    Args:
        mac, address: of its sender; no address if it has none yet.
        asks_for: the address whose owner it looks for, if it does.
    """

    mac: str
    address: str | None
    asks_for: str | None


def read_neighbour(frame: bytes) -> Neighbour | None:
    """What a frame tells of its sender; None if it is neither ARP nor neighbour discovery."""
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
class _Found:
    """A host's interface.

    Attributes:
        at: where it is plugged in.
        heard_s: when it last spoke.
        addresses: with the time when each was last heard.
    """

    at: SwitchPort
    heard_s: float
    addresses: dict[str, float] = field(default_factory=dict)


class Discovery:
    """What has been found.

    Args:
        labels: no host may have such an address.

    Attributes:
        version: another number whenever `network` has changed.
        refused: claims that were not believed.
    """

    def __init__(self, labels: Labels) -> None:
        self.version = 0
        self.refused = 0
        self._labels = labels
        self._switches: dict[int, Switch] = {}
        self._ports: dict[SwitchPort, float] = {}
        self._links: dict[SwitchPort, SwitchPort] = {}
        self._hosts: dict[str, _Found] = {}

    @property
    def network(self) -> Network:
        """What has been found so far; each MAC address is a host of its own."""
        links = [Link(a, b) for a, b in self._links.items() if (a.switch, a.port) < (b.switch, b.port)]
        return Network(tuple(self._switches.values()), tuple(self._described()), tuple(links))

    def switch(self, dpid: int) -> Switch:
        """A switch has connected; it is named as Mininet names switches, `s1` for dpid 1."""
        if dpid not in self._switches:
            self._switches[dpid] = Switch(f"s{dpid}", dpid)
            self.version += 1
        return self._switches[dpid]

    def port(self, at: SwitchPort, live: bool, now_s: float) -> None:
        """A switch has described a port."""
        if not live:
            self._ports.pop(at, None)
        else:
            self._ports.setdefault(at, now_s)

    def ports(self) -> dict[str, list[int]]:
        """All ports that are up, per switch."""
        found: dict[str, list[int]] = {}
        for at in self._ports:
            found.setdefault(at.switch, []).append(at.port)
        return found

    def is_access(self, at: SwitchPort, now_s: float) -> bool:
        """Whether a host, and no switch, is behind a port."""
        return at not in self._links and now_s - self._ports.get(at, now_s) >= SETTLING_S

    def access_ports(self, now_s: float) -> Iterator[SwitchPort]:
        """All ports with hosts behind them, or nobody."""
        return (at for at in self._ports if self.is_access(at, now_s))

    def link(self, a: SwitchPort, b: SwitchPort) -> None:
        """A probe has come from one port to another."""
        if self._links.get(a) == b or a.switch == b.switch:
            return
        for end in (a, b):
            other = self._links.pop(end, None)
            if other is not None:
                self._links.pop(other, None)
        self._links[a], self._links[b] = b, a
        self._hosts = {mac: it for mac, it in self._hosts.items() if it.at not in (a, b)}
        self.version += 1

    def host(self, mac: str, address: str | None, at: SwitchPort, now_s: float) -> None:
        """A frame from this MAC (and IP) address has come in at a port."""
        if not self.is_access(at, now_s):
            return
        found = self._hosts.get(mac)
        if found is None or found.at != at:
            if not self._may_appear(mac, found, at, now_s):
                self.refused += 1
                return
            found = self._hosts[mac] = _Found(at, now_s, found.addresses if found else {})
            self.version += 1
        found.heard_s = now_s
        if address is not None:
            self._claim(mac, found, address, now_s)

    def remember(self, mac: str, addresses: Iterator[str], at: SwitchPort, now_s: float) -> None:
        """Takes up a host that was found before this process began."""
        if mac in self._hosts or at in self._links:
            return
        self._hosts[mac] = found = _Found(at, now_s)
        for address in addresses:
            self._claim(mac, found, address, now_s)
        self.version += 1

    def owner(self, address: str) -> str | None:
        """The MAC address that uses an IP address."""
        return next((mac for mac, found in self._hosts.items() if address in found.addresses), None)

    def _claim(self, mac: str, found: _Found, address: str, now_s: float) -> None:
        owner = self.owner(address)
        if owner is not None and owner != mac:
            if now_s - self._hosts[owner].addresses[address] < ADDRESS_HELD_S:
                self.refused += 1
                return
            del self._hosts[owner].addresses[address]
        elif owner is None and len(found.addresses) >= ADDRESSES_PER_MAC:
            self.refused += 1
            return
        if owner != mac:
            self.version += 1
        found.addresses[address] = now_s

    def _may_appear(self, mac: str, before: _Found | None, at: SwitchPort, now_s: float) -> bool:
        if int(mac[:2], 16) & 1 or mac == "00:00:00:00:00:00" or self._labels.is_label(mac):
            return False
        if sum(found.at == at for found in self._hosts.values()) >= MACS_PER_PORT:
            return False
        return before is None or before.at not in self._ports or now_s - before.heard_s >= MAC_HELD_S

    def _described(self) -> Iterator[Host]:
        for mac, found in sorted(self._hosts.items()):
            interface = Interface(mac, mac, tuple(found.addresses), found.at.switch, found.at.port)
            yield Host(mac, (interface,))


def _usable(address: str) -> str | None:
    ip = IPv6Address(address) if ":" in address else IPv4Address(address)
    return None if ip.is_unspecified or ip.is_multicast or ip.is_loopback else address
