"""What each ingress port has open and waiting: without it one port could fill the room of all."""

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, field

from controllers.packets.segments import FlowKey


@dataclass
class _Port:
    connections: int = 0
    waiting: dict[FlowKey, None] = field(default_factory=dict)


class IngressPorts:
    """Counts connections and keeps the order of waiting flows, per port; a port with neither takes no room."""

    def __init__(self) -> None:
        self._ports: dict[Hashable, _Port] = {}

    def open(self, ingress: Hashable) -> None:
        """The port has one more connection."""
        self._ports.setdefault(ingress, _Port()).connections += 1

    def close(self, ingress: Hashable) -> None:
        """It has one fewer."""
        self._ports[ingress].connections -= 1
        self._forget_if_empty(ingress)

    def connections(self, ingress: Hashable) -> int:
        """How many it has."""
        port = self._ports.get(ingress)
        return port.connections if port else 0

    def wait(self, ingress: Hashable, flow: FlowKey) -> None:
        """The flow waits for an answer, and of all that wait it began last, also if it waited before."""
        waiting = self._ports.setdefault(ingress, _Port()).waiting
        waiting.pop(flow, None)
        waiting[flow] = None

    def done(self, ingress: Hashable, flow: FlowKey) -> None:
        """The flow does not wait any more."""
        del self._ports[ingress].waiting[flow]
        self._forget_if_empty(ingress)

    def waiting(self, ingress: Hashable) -> Collection[FlowKey]:
        """The port's waiting flows, that which has waited longest first."""
        port = self._ports.get(ingress)
        return port.waiting if port else ()

    def longest_queue(self) -> Collection[FlowKey]:
        """The waiting flows of the port that has most of them."""
        return max((port.waiting for port in self._ports.values()), key=len, default=())

    def __iter__(self) -> Iterator[Hashable]:
        """The ports that have anything; they may change meanwhile."""
        return iter(tuple(self._ports))

    def _forget_if_empty(self, ingress: Hashable) -> None:
        port = self._ports[ingress]
        if not port.connections and not port.waiting:
            del self._ports[ingress]
