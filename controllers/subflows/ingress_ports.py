"""The connections and the pending flows of each ingress port, so that no port can use up the room of all."""

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, field

from controllers.packets.segments import FlowKey


@dataclass
class _Port:
    """The number of connections, and the pending flows in their order: a dict serves as an ordered set."""

    connections: int = 0
    pending: dict[FlowKey, None] = field(default_factory=dict)


class IngressPorts:
    """Counts connections and queues pending flows per port; a port without either takes no memory."""

    def __init__(self) -> None:
        self._ports: dict[Hashable, _Port] = {}

    def add_connection(self, ingress: Hashable) -> None:
        """Counts one more connection of the port."""
        self._ports.setdefault(ingress, _Port()).connections += 1

    def remove_connection(self, ingress: Hashable) -> None:
        """Counts one connection fewer."""
        self._ports[ingress].connections -= 1
        self._forget_if_empty(ingress)

    def connections(self, ingress: Hashable) -> int:
        """The number of the port's connections."""
        port = self._ports.get(ingress)
        return port.connections if port else 0

    def enqueue(self, ingress: Hashable, flow: FlowKey) -> None:
        """Puts a pending flow at the end of the port's queue, also if it is in the queue already."""
        pending = self._ports.setdefault(ingress, _Port()).pending
        pending.pop(flow, None)
        pending[flow] = None

    def dequeue(self, ingress: Hashable, flow: FlowKey) -> None:
        """Removes a flow that is no longer pending."""
        del self._ports[ingress].pending[flow]
        self._forget_if_empty(ingress)

    def pending(self, ingress: Hashable) -> Collection[FlowKey]:
        """The port's pending flows, oldest first."""
        port = self._ports.get(ingress)
        return port.pending if port else ()

    def longest_queue(self) -> Collection[FlowKey]:
        """The pending flows of the port that has most of them."""
        return max((port.pending for port in self._ports.values()), key=len, default=())

    def __iter__(self) -> Iterator[Hashable]:
        """All ports that have connections or pending flows; they may change during the iteration."""
        return iter(tuple(self._ports))

    def _forget_if_empty(self, ingress: Hashable) -> None:
        port = self._ports[ingress]
        if not port.connections and not port.pending:
            del self._ports[ingress]
