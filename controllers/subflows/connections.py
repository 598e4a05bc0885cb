"""The table of connections: finds out which TCP flows belong to one MPTCP connection.

The client's SYN announces MPTCP, and the server's SYN/ACK carries its key. The first 32 bits of the key's SHA-256 are
the token by which further subflows join (RFC 8684). A join that the server opens carries a token of the client's key.
Only the third segment of the handshake carries this key, and it is not copied to the controller: the token stays
unknown.

The memory that hostile hosts can use is bounded per table, ingress port and connection. An established flow is never
removed to make room for another one. Times are of a monotonic clock.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import takewhile

from controllers.packets.mptcp_options import MptcpOptions, token_of
from controllers.packets.segments import FlowKey, Segment
from controllers.subflows.connection_records import Admission, Connection, Counters, State, Subflow, SynKind

LARGEST_ID = 2**32 - 1
"""Ids of connections fit into half a cookie. After this one they start again at 1, and skip those in use."""

_LARGEST_SYN_BYTES = 1 << 16


@dataclass
class _Entry:
    """A connection without its id; its flows in the order of their SYNs."""

    protocol: str
    ingress: Hashable
    opened_s: float
    token: int | None = None
    flows: list[FlowKey] = field(default_factory=list)


@dataclass
class ConnectionTable:
    """The connections that are open or being opened.

    Args:
        limit: maximum number of connections, pending ones included. An ingress port can have half of them.
        pending_per_port: a further one replaces the oldest.
        subflows_per_connection: a further one replaces the oldest pending one, if there is one.
        pending_s: a pending flow expires if its SYN has not been seen for so long. More than the longest pause between
            two retransmissions that count as the same flow (Linux: 1, 2, 4, 8, 16, 32 s).
        host_of: returns the host that has an address. Tokens are unique per host only, and this keeps a host from
            joining another host's connections.
    """

    limit: int = 16384
    _: KW_ONLY
    pending_per_port: int = 256
    subflows_per_connection: int = 8
    pending_s: float = 40.0
    host_of: Callable[[str], Hashable] = lambda address: None
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self._last_id = 0
        self._connections: dict[int, _Entry] = {}
        self._flows: dict[FlowKey, Subflow] = {}
        self._tokens: dict[int, tuple[int, ...]] = {}
        self._ports = _IngressPorts()

    def on_syn(self, segment: Segment, options: MptcpOptions, ingress: Hashable, now_s: float) -> Admission:
        self.counters.malformed += bool(options.malformed)
        self.counters.version_0 += options.version_0
        subflow = self._flows.get(segment.flow)
        if subflow is not None and subflow.ingress != ingress:
            return self._refuse()
        if subflow is not None and subflow.sequence == segment.sequence:
            if subflow.state is State.PENDING:
                self._ports.enqueue(ingress, subflow.flow)
            return Admission(SynKind.REPEATED, self._store(replace(subflow, seen_s=now_s)))
        replaced = (self._remove(subflow),) if subflow is not None else ()
        join = options.join
        if join is not None and join.token is not None:
            admission = self._join(segment, join.token, ingress, now_s, backup=join.backup)
        else:
            admission = self._open(segment, options, ingress, now_s)
        return replace(admission, removed=replaced + admission.removed)

    def on_syn_ack(self, segment: Segment, options: MptcpOptions, now_s: float) -> Subflow | None:
        """Takes a SYN/ACK, which establishes the flow and decides whether its connection is MPTCP.

        A join that is answered without MP_JOIN stays pending: the client will reset it. Returns the subflow, or None if
        the segment does not answer a known SYN.
        """
        self.counters.malformed += bool(options.malformed)
        subflow = self._flows.get(segment.flow.reversed())
        if subflow is None or not _answers(segment, subflow):
            return None
        if subflow.state is State.ESTABLISHED:
            return subflow
        if subflow.joined:
            if options.join is None or options.join.token is not None:
                return subflow
            self.counters.joins += 1
        elif self._connections[subflow.connection].protocol == "mptcp":
            self._set_protocol(subflow, options.capable.key if options.capable else None)
        self._ports.dequeue(subflow.ingress, subflow.flow)
        return self._store(replace(subflow, state=State.ESTABLISHED))

    def set_path(self, flow: FlowKey, path: int) -> Subflow | None:
        """Sets the number of the path that a flow takes; returns None if the flow is not known."""
        subflow = self.find(flow)
        return self._store(replace(subflow, path=path)) if subflow else None

    def close(self, flow: FlowKey) -> Subflow | None:
        """Removes and returns a flow, given in either direction, and its connection if it was the last one."""
        subflow = self.find(flow)
        return self._remove(subflow) if subflow is not None else None

    def expire(self, now_s: float) -> tuple[Subflow, ...]:
        """Removes and returns the pending flows that have expired."""

        def is_expired(flow: FlowKey) -> bool:
            return self._flows[flow].seen_s + self.pending_s <= now_s

        expired = [flow for queue in self._ports.queues() for flow in takewhile(is_expired, queue)]
        self.counters.expired += len(expired)
        return tuple(self._remove(self._flows[flow]) for flow in expired)

    def restore(self, subflow: Subflow, *, token: int | None, protocol: str) -> Subflow | None:
        """Adds an established flow that a rule describes, after a restart of the controller.

        Flows with the same `connection` become one connection, which counts as open since `seen_s`. Returns None if
        there is no room for the flow, or it belongs to another connection already.
        """
        flow, connection = subflow.flow, subflow.connection
        before = self._flows.get(flow)
        if before is not None:
            return self._store(replace(before, path=subflow.path)) if before.connection == connection else None
        entry = self._connections.get(connection)
        if entry is None:
            if not self._has_room(subflow.ingress):
                return None
            entry = self._add_connection(connection, protocol, subflow.ingress, subflow.seen_s)
            self._last_id = max(self._last_id, connection)
        elif len(entry.flows) >= self.subflows_per_connection:
            return None
        entry.flows.append(flow)
        if token is not None and entry.token is None:
            self._set_token(connection, flow.destination, token)
        return self._store(subflow)

    def find(self, flow: FlowKey) -> Subflow | None:
        """Returns the subflow with these addresses and ports, given in either direction."""
        return self._flows.get(flow) or self._flows.get(flow.reversed())

    def connection(self, connection_id: int) -> Connection | None:
        entry = self._connections.get(connection_id)
        return None if entry is None else self._record(connection_id, entry)

    def find_by_token(self, host: Hashable, token: int) -> Connection | None:
        """Returns the connection that a join to this host with this token belongs to."""
        connection_id = self._id_by_token(host, token)
        return None if connection_id is None else self.connection(connection_id)

    def connections(self) -> tuple[Connection, ...]:
        """Returns all connections, in the order in which they were opened."""
        return tuple(self._record(connection_id, entry) for connection_id, entry in self._connections.items())

    def next_id(self) -> int:
        """Returns an id for a new connection, which no other one has now."""
        while True:
            self._last_id = self._last_id % LARGEST_ID + 1
            if self._last_id not in self._connections:
                return self._last_id

    def _record(self, connection_id: int, entry: _Entry) -> Connection:
        subflows = tuple(self._flows[flow] for flow in entry.flows)
        return Connection(connection_id, entry.protocol, entry.token, subflows, entry.opened_s)

    def _open(self, segment: Segment, options: MptcpOptions, ingress: Hashable, now_s: float) -> Admission:
        removed = self._make_room(ingress)
        if not self._has_room(ingress):
            return replace(self._refuse(), removed=removed)
        protocol = "mptcp" if options.capable is not None and options.capable.key is None else "tcp"
        connection = self.next_id()
        self._add_connection(connection, protocol, ingress, now_s)
        self.counters.opened += 1
        subflow = self._add_pending(connection, segment, ingress, now_s, backup=False, joined=False)
        return Admission(SynKind.OPENED, subflow, removed)

    def _join(self, segment: Segment, token: int, ingress: Hashable, now_s: float, *, backup: bool) -> Admission:
        connection = self._id_by_token(self.host_of(segment.flow.destination), token)
        if connection is None or self._client(connection) != self.host_of(segment.flow.source):
            self.counters.unknown_tokens += 1
            return Admission(SynKind.UNKNOWN_TOKEN)
        entry = self._connections[connection]
        removed = self._make_room_to_join(entry, ingress)
        if not entry.flows or len(entry.flows) >= self.subflows_per_connection:
            return replace(self._refuse(), removed=removed)
        subflow = self._add_pending(connection, segment, ingress, now_s, backup=backup, joined=True)
        return Admission(SynKind.JOINED, subflow, removed)

    def _client(self, connection: int) -> Hashable:
        return self.host_of(self._connections[connection].flows[0].source)

    def _refuse(self) -> Admission:
        self.counters.refused += 1
        return Admission(SynKind.REFUSED)

    def _add_connection(self, connection: int, protocol: str, ingress: Hashable, now_s: float) -> _Entry:
        """Adds a connection without flows; the caller adds the first one."""
        entry = _Entry(protocol, ingress, now_s)
        self._connections[connection] = entry
        self._ports.connections[ingress] += 1
        return entry

    def _add_pending(
        self, connection: int, segment: Segment, ingress: Hashable, now_s: float, *, backup: bool, joined: bool
    ) -> Subflow:
        flow, sequence = segment.flow, segment.sequence
        self._connections[connection].flows.append(flow)
        self._ports.enqueue(ingress, flow)
        return self._store(Subflow(connection, flow, ingress, State.PENDING, None, backup, joined, now_s, sequence))

    def _store(self, subflow: Subflow) -> Subflow:
        self._flows[subflow.flow] = subflow
        return subflow

    def _remove(self, subflow: Subflow) -> Subflow:
        """Removes and returns a flow of the table, and its connection if it was the last one."""
        del self._flows[subflow.flow]
        entry = self._connections[subflow.connection]
        entry.flows.remove(subflow.flow)
        if subflow.state is State.PENDING:
            self._ports.dequeue(subflow.ingress, subflow.flow)
        if not entry.flows:
            del self._connections[subflow.connection]
            self._ports.remove_connection(entry.ingress)
            self._forget_token(subflow.connection, entry.token)
        return subflow

    def _set_protocol(self, subflow: Subflow, key: bytes | None) -> None:
        """Makes the connection MPTCP with the server's key, or TCP without one."""
        if key is None:
            self._connections[subflow.connection].protocol = "tcp"
            self.counters.fallbacks += 1
        else:
            self._set_token(subflow.connection, subflow.flow.destination, token_of(key))
            self.counters.mptcp += 1

    def _set_token(self, connection: int, server: str, token: int) -> None:
        """Sets a connection's token. If another connection of the host had it, that one has ended unseen."""
        before = self._id_by_token(self.host_of(server), token)
        if before is not None:
            self._forget_token(before, token)
            self._connections[before].token = None
        self._forget_token(connection, self._connections[connection].token)
        self._connections[connection].token = token
        self._tokens[token] = (*self._tokens.get(token, ()), connection)

    def _forget_token(self, connection: int, token: int | None) -> None:
        if token is None:
            return
        others = tuple(it for it in self._tokens.pop(token, ()) if it != connection)
        if others:
            self._tokens[token] = others

    def _id_by_token(self, host: Hashable, token: int) -> int | None:
        """Compares hosts as they are known now, because they may have become known only later."""
        candidates = self._tokens.get(token, ())
        matches = (it for it in candidates if self.host_of(self._connections[it].flows[0].destination) == host)
        return next(matches, None)

    def _has_room(self, ingress: Hashable) -> bool:
        """Returns whether this port can open one more connection."""
        return len(self._connections) < self.limit and not self._is_share_used(ingress)

    def _is_share_used(self, ingress: Hashable) -> bool:
        return self._ports.connections[ingress] >= max(1, self.limit // 2)

    def _make_room(self, ingress: Hashable) -> tuple[Subflow, ...]:
        """Removes pending flows, as far as that makes room for one more connection from this port."""
        removed = self._make_room_to_wait(ingress)
        if self._has_room(ingress):
            return removed
        pending = self._ports.pending(ingress) if self._is_share_used(ingress) else self._ports.longest_queue()
        return removed + self._evict_first(flow for flow in pending if not self._flows[flow].joined)

    def _make_room_to_join(self, entry: _Entry, ingress: Hashable) -> tuple[Subflow, ...]:
        removed = self._make_room_to_wait(ingress)
        if len(entry.flows) < self.subflows_per_connection:
            return removed
        return removed + self._evict_first(flow for flow in entry.flows if self._flows[flow].state is State.PENDING)

    def _make_room_to_wait(self, ingress: Hashable) -> tuple[Subflow, ...]:
        pending = self._ports.pending(ingress)
        return self._evict_first(pending) if len(pending) >= self.pending_per_port else ()

    def _evict_first(self, flows: Iterable[FlowKey]) -> tuple[Subflow, ...]:
        """Removes the first of these flows, if there is one."""
        oldest = next(iter(flows), None)
        if oldest is None:
            return ()
        self.counters.evicted += 1
        return (self._remove(self._flows[oldest]),)


def _answers(segment: Segment, subflow: Subflow) -> bool:
    """Returns whether a SYN/ACK acknowledges the SYN (and no more data than fits into it), which a forger cannot do."""
    if subflow.sequence is None:
        return True
    return 1 <= (segment.acknowledgement - subflow.sequence) % 2**32 <= _LARGEST_SYN_BYTES


class _IngressPorts:
    """Counts connections and queues pending flows per port; a port without either takes no memory."""

    def __init__(self) -> None:
        self.connections: Counter[Hashable] = Counter()
        self._pending: dict[Hashable, dict[FlowKey, None]] = {}  # the inner dict serves as an ordered set

    def remove_connection(self, ingress: Hashable) -> None:
        self.connections[ingress] -= 1
        if not self.connections[ingress]:
            del self.connections[ingress]

    def enqueue(self, ingress: Hashable, flow: FlowKey) -> None:
        """Puts a pending flow at the end of the port's queue, also if it is in the queue already."""
        queue = self._pending.setdefault(ingress, {})
        queue.pop(flow, None)
        queue[flow] = None

    def dequeue(self, ingress: Hashable, flow: FlowKey) -> None:
        del self._pending[ingress][flow]
        if not self._pending[ingress]:
            del self._pending[ingress]

    def pending(self, ingress: Hashable) -> Collection[FlowKey]:
        """Returns the port's pending flows, oldest first."""
        return self._pending.get(ingress, ())

    def longest_queue(self) -> Collection[FlowKey]:
        return max(self._pending.values(), key=len, default=())

    def queues(self) -> Iterable[Collection[FlowKey]]:
        """Returns the pending flows of each port that has some, oldest first."""
        return self._pending.values()
