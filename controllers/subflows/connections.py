"""Which flows belong to one MPTCP connection: without it subflows could not be kept on different paths.

The client's SYN announces MPTCP, the server's SYN/ACK carries its key, and the first 32 bits of the key's SHA-256 are
the token by which further subflows join (RFC 8684). A join that the server opens names the client's key, which only the
third segment of the handshake carries and nobody shows us: its token stays unknown.

What a stranger can make this remember is bounded everywhere: by connections, by ingress port, by connection. What is
established gives way to nothing but its own end.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace

from controllers.packets.mptcp_options import MptcpOptions, token_of
from controllers.packets.segments import FlowKey, Segment
from controllers.subflows.connection_records import Admission, Connection, Counters, State, Subflow, Verdict
from controllers.subflows.ingress_ports import IngressPorts
from controllers.subflows.syn_guard import SynGuard

__all__ = [
    "Admission",
    "Connection",
    "ConnectionTable",
    "Counters",
    "State",
    "Subflow",
    "SynGuard",
    "Verdict",
]

LARGEST_ID = 2**32 - 1
"""Ids of connections fit into half a cookie; after this one they begin anew, without those that live."""

_LARGEST_SYN_BYTES = 1 << 16


@dataclass
class _Entry:
    """A connection, but for its id; its flows in the order of their SYNs."""

    protocol: str
    ingress: Hashable
    opened_s: float
    token: int | None = None
    flows: list[FlowKey] = field(default_factory=list)


class ConnectionTable:
    """The connections that are open, or about to be.

    Args:
        limit: connections at most, pending ones included. No ingress port may have more than half of them.
        pending_per_port: flows at most per ingress port whose SYN/ACK is still to come; a further one takes the place
            of the oldest of these.
        subflows_per_connection: at most; a further one takes the place of the oldest pending one, if there is one.
        pending_s: a pending flow without a SYN for so long has expired. More than the longest pause between two
            retransmissions that shall be the same flow (Linux: 1, 2, 4, 8, 16, 32 s).
        host_of: the host that has an address. Tokens are unique per host only, and with it no host can take another's.

    Attributes:
        counters: see `Counters`.
    """

    def __init__(
        self,
        limit: int = 16384,
        *,
        pending_per_port: int = 256,
        subflows_per_connection: int = 8,
        pending_s: float = 40.0,
        host_of: Callable[[str], Hashable] = lambda address: None,
    ) -> None:
        self.counters = Counters()
        self._limit = limit
        self._pending_per_port = pending_per_port
        self._subflows_per_connection = subflows_per_connection
        self._pending_s = pending_s
        self._host_of = host_of
        self._last_id = 0
        self._connections: dict[int, _Entry] = {}
        self._flows: dict[FlowKey, Subflow] = {}
        self._tokens: dict[int, tuple[int, ...]] = {}
        self._ports = IngressPorts()

    def syn(self, segment: Segment, options: MptcpOptions, ingress: Hashable, now_s: float) -> Admission:
        """Notes a SYN.

        Args:
            segment: with `is_syn`.
            options: its MPTCP options.
            ingress: where it entered the network.
            now_s: the time, on a clock that never goes back.
        """
        self.counters.malformed += bool(options.malformed)
        self.counters.version_0 += options.version_0
        known = self._flows.get(segment.flow)
        if known is not None and known.ingress != ingress:
            return self._refused()
        if known is not None and known.sequence == segment.sequence:
            return Admission(Verdict.REPEATED, self._seen_again(known, now_s))
        replaced = (self.closed(known.flow),) if known is not None else ()
        admit = self._join if options.join is not None and options.join.token is not None else self._open
        admission = admit(segment, options, ingress, now_s)
        return replace(admission, removed=replaced + admission.removed)

    def syn_ack(self, segment: Segment, options: MptcpOptions, now_s: float) -> Subflow | None:
        """Notes a SYN/ACK: its flow is established, and its connection is MPTCP or is not.

        A join that is answered without MP_JOIN stays pending: the client will reset it.

        Args:
            segment: with `is_syn_ack`.
            options: its MPTCP options.
            now_s: the time.

        Returns:
            The subflow (in the direction of its SYN), or None if it answers no SYN that is known.
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
            self._grant(subflow, options.capable.key if options.capable else None)
        self._ports.done(subflow.ingress, subflow.flow)
        return self._keep(replace(subflow, state=State.ESTABLISHED))

    def place(self, flow: FlowKey, path: int) -> Subflow | None:
        """Notes the path that a flow has been given, now or anew; None if the flow is not known."""
        subflow = self.find(flow)
        return self._keep(replace(subflow, path=path)) if subflow else None

    def closed(self, flow: FlowKey) -> Subflow | None:
        """Forgets a flow, named in either direction, and with its last flow the connection.

        Returns:
            The flow as it was, or None if it was not known.
        """
        subflow = self.find(flow)
        if subflow is None:
            return None
        del self._flows[subflow.flow]
        entry = self._connections[subflow.connection]
        entry.flows.remove(subflow.flow)
        if subflow.state is State.PENDING:
            self._ports.done(subflow.ingress, subflow.flow)
        if not entry.flows:
            del self._connections[subflow.connection]
            self._ports.close(entry.ingress)
            self._unlearn(subflow.connection, entry.token)
        return subflow

    def expire(self, now_s: float) -> tuple[Subflow, ...]:
        """Forgets the pending flows whose time is over, and returns them."""
        over = []
        for ingress in self._ports:
            while (oldest := self._longest_waiting(ingress)) and oldest.seen_s + self._pending_s <= now_s:
                over.append(self.closed(oldest.flow))
        self.counters.expired += len(over)
        return tuple(over)

    def restore(
        self,
        connection: int,
        token: int | None,
        flow: FlowKey,
        path: int,
        *,
        ingress: Hashable,
        now_s: float,
        protocol: str | None = None,
        backup: bool = False,
        joined: bool = False,
    ) -> Subflow | None:
        """Takes up an established flow from what a flow rule carries, after a restart of the controller.

        Args:
            connection: id that the flow's connection had, or a free one; flows with the same id become one connection.
            token: the connection's, or None.
            flow: in the direction of its SYN.
            path: as given to `place`.
            ingress: where the flow enters.
            now_s: the time; the connection counts as opened now.
            protocol: None is `mptcp` with a token and `tcp` without.
            backup, joined: as in `Subflow`.

        Returns:
            The flow; None if there is no room for it, or it is there already under another connection.
        """
        known = self._flows.get(flow)
        if known is not None:
            return self.place(flow, path) if known.connection == connection else None
        entry = self._connections.get(connection)
        if entry is None:
            if not self._has_room(ingress):
                return None
            entry = self._add(connection, protocol or ("tcp" if token is None else "mptcp"), ingress, now_s)
            self._last_id = max(self._last_id, connection)
        elif len(entry.flows) >= self._subflows_per_connection:
            return None
        entry.flows.append(flow)
        if token is not None and entry.token is None:
            self._learn(connection, flow.destination, token)
        return self._keep(Subflow(connection, flow, ingress, State.ESTABLISHED, path, backup, joined, now_s))

    def find(self, flow: FlowKey) -> Subflow | None:
        """A flow, named in either direction."""
        return self._flows.get(flow) or self._flows.get(flow.reversed())

    def connection(self, connection_id: int) -> Connection | None:
        """A connection by its id."""
        entry = self._connections.get(connection_id)
        if entry is None:
            return None
        subflows = tuple(self._flows[flow] for flow in entry.flows)
        return Connection(connection_id, entry.protocol, entry.token, subflows, entry.opened_s)

    def with_token(self, host: Hashable, token: int) -> Connection | None:
        """The connection that a join with this token, sent to this host, is for."""
        found = self._id_of(host, token)
        return None if found is None else self.connection(found)

    def connections(self) -> tuple[Connection, ...]:
        """All connections, in the order in which they were opened."""
        return tuple(self.connection(connection_id) for connection_id in self._connections)

    def _open(self, segment: Segment, options: MptcpOptions, ingress: Hashable, now_s: float) -> Admission:
        removed = self._make_room(ingress)
        if not self._has_room(ingress):
            return replace(self._refused(), removed=removed)
        protocol = "mptcp" if options.capable is not None and options.capable.key is None else "tcp"
        connection = self._next_id()
        self._add(connection, protocol, ingress, now_s)
        self.counters.opened += 1
        subflow = self._begin(connection, segment, ingress, now_s, backup=False, joined=False)
        return Admission(Verdict.OPENED, subflow, removed)

    def _join(self, segment: Segment, options: MptcpOptions, ingress: Hashable, now_s: float) -> Admission:
        connection = self._id_of(self._host_of(segment.flow.destination), options.join.token)
        entry = self._connections.get(connection)
        if entry is None or self._host_of(entry.flows[0].source) != self._host_of(segment.flow.source):
            self.counters.unknown_tokens += 1
            return Admission(Verdict.UNKNOWN_TOKEN)
        removed = self._make_room_to_join(entry, ingress)
        if not entry.flows or len(entry.flows) >= self._subflows_per_connection:
            return replace(self._refused(), removed=removed)
        subflow = self._begin(connection, segment, ingress, now_s, backup=options.join.backup, joined=True)
        return Admission(Verdict.JOINED, subflow, removed)

    def _refused(self) -> Admission:
        self.counters.refused += 1
        return Admission(Verdict.REFUSED)

    def _add(self, connection: int, protocol: str, ingress: Hashable, now_s: float) -> _Entry:
        """A connection without flows, which the caller adds."""
        entry = _Entry(protocol, ingress, now_s)
        self._connections[connection] = entry
        self._ports.open(ingress)
        return entry

    def _begin(
        self, connection: int, segment: Segment, ingress: Hashable, now_s: float, *, backup: bool, joined: bool
    ) -> Subflow:
        flow, sequence = segment.flow, segment.sequence
        self._connections[connection].flows.append(flow)
        self._ports.wait(ingress, flow)
        return self._keep(Subflow(connection, flow, ingress, State.PENDING, None, backup, joined, now_s, sequence))

    def _keep(self, subflow: Subflow) -> Subflow:
        self._flows[subflow.flow] = subflow
        return subflow

    def _seen_again(self, subflow: Subflow, now_s: float) -> Subflow:
        if subflow.state is State.PENDING:
            self._ports.wait(subflow.ingress, subflow.flow)
        return self._keep(replace(subflow, seen_s=now_s))

    def _longest_waiting(self, ingress: Hashable) -> Subflow | None:
        first = next(iter(self._ports.waiting(ingress)), None)
        return None if first is None else self._flows[first]

    def _grant(self, subflow: Subflow, key: bytes | None) -> None:
        """Makes the connection MPTCP with the server's key, or TCP without."""
        if key is None:
            self._connections[subflow.connection].protocol = "tcp"
            self.counters.fallbacks += 1
        else:
            self._learn(subflow.connection, subflow.flow.destination, token_of(key))
            self.counters.mptcp += 1

    def _learn(self, connection: int, server: str, token: int) -> None:
        """No host has one token twice: what had it before has ended without our knowing."""
        before = self._id_of(self._host_of(server), token)
        if before is not None:
            self._unlearn(before, token)
            self._connections[before].token = None
        self._unlearn(connection, self._connections[connection].token)
        self._connections[connection].token = token
        self._tokens[token] = (*self._tokens.get(token, ()), connection)

    def _unlearn(self, connection: int, token: int | None) -> None:
        others = tuple(it for it in self._tokens.pop(token, ()) if it != connection)
        if others:
            self._tokens[token] = others

    def _id_of(self, host: Hashable, token: int) -> int | None:
        """What is known of hosts may change meanwhile, so they are compared as they are now."""
        candidates = self._tokens.get(token, ())
        named = (it for it in candidates if self._host_of(self._connections[it].flows[0].destination) == host)
        return next(named, None)

    def _next_id(self) -> int:
        following = self._last_id % LARGEST_ID + 1
        while following in self._connections:
            following = following % LARGEST_ID + 1
        self._last_id = following
        return following

    def _has_room(self, ingress: Hashable) -> bool:
        """Whether one more connection may be opened from this port."""
        return len(self._connections) < self._limit and not self._has_its_share(ingress)

    def _has_its_share(self, ingress: Hashable) -> bool:
        return self._ports.connections(ingress) >= max(1, self._limit // 2)

    def _make_room(self, ingress: Hashable) -> tuple[Subflow, ...]:
        """Gives up what is pending, as far as that makes room for one more connection from this port."""
        removed = self._make_room_to_wait(ingress)
        if self._has_room(ingress):
            return removed
        waiting = self._ports.waiting(ingress) if self._has_its_share(ingress) else self._ports.longest_queue()
        return removed + self._evict(flow for flow in waiting if not self._flows[flow].joined)

    def _make_room_to_join(self, entry: _Entry, ingress: Hashable) -> tuple[Subflow, ...]:
        removed = self._make_room_to_wait(ingress)
        if len(entry.flows) < self._subflows_per_connection:
            return removed
        waiting = (flow for flow in entry.flows if self._flows[flow].state is State.PENDING)
        return removed + self._evict(waiting)

    def _make_room_to_wait(self, ingress: Hashable) -> tuple[Subflow, ...]:
        waiting = self._ports.waiting(ingress)
        return self._evict(waiting) if len(waiting) >= self._pending_per_port else ()

    def _evict(self, flows: Iterable[FlowKey]) -> tuple[Subflow, ...]:
        """Forgets the first of these flows, if there is one."""
        oldest = next(iter(flows), None)
        if oldest is None:
            return ()
        self.counters.evicted += 1
        return (self.closed(oldest),)


def _answers(segment: Segment, subflow: Subflow) -> bool:
    """Whether the SYN/ACK acknowledges the SYN (and no more data than one could carry); a forger cannot know."""
    if subflow.sequence is None:
        return True
    return 1 <= (segment.acknowledgement - subflow.sequence) % 2**32 <= _LARGEST_SYN_BYTES
