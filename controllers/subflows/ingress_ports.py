"""The connections and the pending flows of each ingress port, so that no port can use up the room of all."""

from collections import Counter
from collections.abc import Collection, Hashable

from controllers.packets.segments import FlowKey


class IngressPorts:
    """Counts connections and queues pending flows per port; a port without either takes no memory.

    Attributes:
        connections: the number of connections of each port.
    """

    def __init__(self) -> None:
        self.connections: Counter[Hashable] = Counter()
        self._pending: dict[Hashable, dict[FlowKey, None]] = {}  # the inner dict serves as an ordered set

    def remove_connection(self, ingress: Hashable) -> None:
        """Counts one connection fewer."""
        self.connections[ingress] -= 1
        if not self.connections[ingress]:
            del self.connections[ingress]

    def enqueue(self, ingress: Hashable, flow: FlowKey) -> None:
        """Puts a pending flow at the end of the port's queue, also if it is in the queue already."""
        queue = self._pending.setdefault(ingress, {})
        queue.pop(flow, None)
        queue[flow] = None

    def dequeue(self, ingress: Hashable, flow: FlowKey) -> None:
        """Removes a flow that is no longer pending."""
        del self._pending[ingress][flow]
        if not self._pending[ingress]:
            del self._pending[ingress]

    def pending(self, ingress: Hashable) -> Collection[FlowKey]:
        """The port's pending flows, oldest first."""
        return self._pending.get(ingress, ())

    def longest_queue(self) -> Collection[FlowKey]:
        """The pending flows of the port that has most of them."""
        return max(self._pending.values(), key=len, default=())

    def with_pending(self) -> tuple[Hashable, ...]:
        """The ports that have pending flows now."""
        return tuple(self._pending)
