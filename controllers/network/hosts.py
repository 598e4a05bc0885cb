"""The hosts of a network by their addresses, so that no host can end or divert another host's flows."""

from collections.abc import Hashable, Mapping

from controllers.network.description import Interface, Network, SwitchPort
from controllers.packets.segments import Segment


class KnownHosts:
    """The interfaces of all hosts, by MAC and IP address."""

    def __init__(self) -> None:
        self._by_mac: Mapping[str, Interface] = {}
        self._by_address: Mapping[str, Interface] = {}
        self._names: Mapping[Interface, str] = {}

    def on_network(self, network: Network, _now_s: float = 0.0) -> None:
        self._names = {it: host.name for host in network.hosts for it in host.interfaces}
        self._by_mac = {it.mac: it for it in network.interfaces}
        self._by_address = {address: it for it in network.interfaces for address in it.addresses}

    def with_mac(self, mac: str) -> Interface | None:
        return self._by_mac.get(mac)

    def with_address(self, address: str) -> Interface | None:
        return self._by_address.get(address)

    def name_at(self, address: str) -> Hashable:
        """Returns the name of the host that has this IP address; None if no host has it."""
        interface = self._by_address.get(address)
        return self._names[interface] if interface else None

    def is_genuine(self, segment: Segment, ingress: SwitchPort) -> bool:
        """Returns whether a segment entered the network at the port of the host whose addresses it carries."""
        source, owner = self._by_mac.get(segment.source_mac), self._by_address.get(segment.flow.source)
        if source is None or source.plugged_into != ingress:
            return False
        return owner is None or self._names[owner] == self._names[source]
