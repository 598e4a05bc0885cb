"""The life of a flow, from its SYN to its end: admission, choice of a path, and removal.

The SYN/ACK that reveals the token of a connection comes from the server's switch, a join from the client's switch: on
their way to the controller either may overtake the other, so a join waits for its token.

Nothing here knows os-ken or the clock: the caller passes the time, and a function that sends on a held SYN.
"""

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from controllers.network.description import Interface, SwitchPort
from controllers.network.hosts import KnownHosts
from controllers.network.paths import Edge, Path, Topology
from controllers.openflow.cookies import FlowCookie, RuleKind
from controllers.openflow.rules import Action
from controllers.openflow.steering_rules import IDLE_CONNECTION_S
from controllers.packets.mptcp_options import MptcpOptions, parse_options
from controllers.packets.segments import FIN, RST, FlowKey, Segment
from controllers.subflows.connection_records import Connection, State, Subflow, SynKind
from controllers.subflows.connections import ConnectionTable
from controllers.subflows.placements import Placement, Placements
from controllers.subflows.policies import PathRequest, Policy

LOAD_LAG_S = 2.0
"""Time after which the counters have been read twice, and a link's load contains most of a new flow."""

TOKEN_TIMEOUT_S = 0.1
"""Time for which a join waits for its connection's token before the token counts as unknown."""

_MAX_PENDING = 256

Release = Callable[[tuple[Action, ...] | None], None]
"""Sends on a SYN that a switch holds: with these actions, or by forwarding's rules (None)."""


class Outcome(StrEnum):
    """The outcome of a SYN."""

    STEERED = "steered"
    REPEATED = "repeated"
    UNKNOWN_TOKEN = "unknown_token"
    REFUSED = "refused"
    NOT_GENUINE = "not_genuine"  # from an address that belongs to another port
    NO_PATH = "no_path"
    WRITE_FAILED = "write_failed"


@dataclass(frozen=True)
class _HeldSyn:
    """A SYN that a switch holds."""

    segment: Segment
    options: MptcpOptions
    ingress: SwitchPort
    release: Release
    since_s: float

    @property
    def flow(self) -> FlowKey:
        return self.segment.flow

    @property
    def token(self) -> int | None:
        """The token of the connection that it joins; None if it joins none."""
        return None if self.options.join is None else self.options.join.token


@dataclass
class Flows:
    """The known flows.

    Args:
        knows_hosts: whether the network tells which interfaces belong to one host. If not, tokens are treated as unique
            in the whole network.
    """

    topology: Topology
    policy: Policy
    placements: Placements
    knows_hosts: bool = True

    def __post_init__(self) -> None:
        self.hosts = KnownHosts()
        self.table = ConnectionTable(host_of=self.hosts.name_at) if self.knows_hosts else ConnectionTable()
        self.outcomes: Counter[Outcome] = Counter()
        self._pending_joins = _PendingJoins(self._knows_token)
        self._recent = _RecentFlows()
        self._finished: dict[FlowKey, set[FlowKey]] = {}
        self._packets: dict[FlowKey, tuple[int, float]] = {}

    def on_syn(self, segment: Segment, ingress: SwitchPort, release: Release, now_s: float) -> None:
        """Takes a SYN that a switch holds. `release` is called once: now, or when the flow's rules are in place."""
        target = self.hosts.with_mac(segment.destination_mac)
        if target is None or not self.hosts.is_genuine(segment, ingress):
            self._release_unsteered(Outcome.NOT_GENUINE, release)
            return
        syn = _HeldSyn(segment, parse_options(segment.options), ingress, release, now_s)
        if not self._pending_joins.add(syn):
            self._admit(syn, now_s)

    def on_copied_syn(self, segment: Segment, ingress: SwitchPort, now_s: float) -> None:
        """Takes a copy of a SYN for which the switch itself has chosen a path."""
        if self.hosts.is_genuine(segment, ingress):
            admission = self.table.on_syn(segment, parse_options(segment.options), ingress, now_s)
            for removed in admission.removed:
                self._remove(removed.flow)

    def on_syn_ack(self, segment: Segment, ingress: SwitchPort, now_s: float) -> None:
        """Takes a copy of a SYN/ACK: from now on the flow's rule carries the token of its connection."""
        if not self.hosts.is_genuine(segment, ingress):
            return
        options = parse_options(segment.options)
        subflow = self.table.on_syn_ack(segment, options, now_s)
        if options.capable is not None:
            self._admit_pending_joins(now_s)
        if subflow is None:
            return
        connection = self.table.connection(subflow.connection)
        if connection is not None:  # a join that was admitted just now may have evicted its last flow
            self.placements.set_token(subflow.flow, connection.token)

    def on_end(self, segment: Segment, ingress: SwitchPort, now_s: float) -> None:
        """Takes a copy of a FIN or RST: a flow ends with a FIN from each end, or with one RST."""
        subflow = self.table.find(segment.flow)
        if subflow is None or not self.hosts.is_genuine(segment, ingress):
            return
        if segment.flags & FIN:
            self._finished.setdefault(subflow.flow, set()).add(segment.flow)
        if segment.flags & RST or len(self._finished.get(subflow.flow, ())) == 2:
            self.table.close(subflow.flow)
            self._finished.pop(subflow.flow, None)
            self.placements.end(subflow.flow, now_s)
            self._close_orphaned_joins(subflow.connection)

    def on_eviction(self, flow: FlowKey) -> None:
        """Closes a flow when a switch has evicted the rule of one of its directions because it was idle."""
        subflow = self.table.find(flow)
        if subflow is not None:
            self._close(subflow)

    def tick(self, now_s: float) -> None:
        """Removes what has expired. To be called regularly."""
        self._admit_pending_joins(now_s)
        for expired in self.table.expire(now_s):
            self._remove(expired.flow)
        self.placements.tick(now_s)

    def note_packets(self, counts: Iterable[tuple[FlowKey, int]], now_s: float) -> None:
        """Takes how many packets the rules of flows have matched, and closes connections idle for `IDLE_CONNECTION_S`.

        The flows are in the direction of their rules.
        """
        for flow, packets in counts:
            subflow = self.table.find(flow)
            if subflow is not None and self._packets.get(flow, (-1, 0.0))[0] != packets:
                self._packets[flow] = packets, now_s
        self._packets = {flow: counted for flow, counted in self._packets.items() if self.table.find(flow) is not None}
        for connection in self.table.connections():
            directions = [flow for it in connection.subflows for flow in (it.flow, it.flow.reversed())]
            active_s = max(self._packets.get(flow, (0, connection.opened_s))[1] for flow in directions)
            if now_s - active_s > IDLE_CONNECTION_S:
                for subflow in connection.subflows:
                    self._close(subflow)

    def choose(self, subflow: Subflow, source: str, target: str, now_s: float) -> Path | None:
        """Returns the path for a flow between two switches; None if there is none."""
        if source == target:
            return Path((source,), ())
        connection = self._connection_of(subflow)
        others = [other.flow for other in connection.subflows if other.flow != subflow.flow]
        in_use = Counter(edge for flow in others for edge in self.placements.edges_of(flow))
        is_mptcp, recent = connection.protocol == "mptcp", self._recent.per_link(now_s)
        return self.policy.choose(self.topology, PathRequest(source, target, in_use, subflow.flow, is_mptcp, recent))

    def place(
        self, flow: FlowKey, path: Path, source: Interface, target: Interface, cookie: FlowCookie, now_s: float
    ) -> Placement:
        """Sets the path of a flow; the caller writes its rules."""
        self._recent.add(path.edges, now_s)
        placement = self.placements.place(flow, path, source, target, cookie)
        self.table.set_path(flow, placement.forward.number)
        return placement

    def find_by_token(self, flow: FlowKey, token: int) -> Connection | None:
        """Returns the connection that a join with this flow and token belongs to."""
        host: Hashable = self.hosts.name_at(flow.destination) if self.knows_hosts else None
        return self.table.find_by_token(host, token)

    def _connection_of(self, subflow: Subflow) -> Connection:
        connection = self.table.connection(subflow.connection)
        assert connection is not None, "the table keeps a connection as long as it has a subflow"
        return connection

    def _admit(self, syn: _HeldSyn, now_s: float) -> None:
        admission = self.table.on_syn(syn.segment, syn.options, syn.ingress, now_s)
        for removed in admission.removed:
            self._remove(removed.flow)
        match admission.kind:
            case SynKind.UNKNOWN_TOKEN | SynKind.REFUSED:
                self._release_unsteered(Outcome[admission.kind.name], syn.release)
            case SynKind.REPEATED if (placement := self.placements.by_flow.get(syn.flow)) is not None:
                self.outcomes[Outcome.REPEATED] += 1
                syn.release(placement.forward.actions)
            case _:  # also a repeated SYN whose first one found no path
                assert admission.subflow is not None, "a flow that has opened or joined a connection is kept"
                self._steer(admission.subflow, syn, now_s)

    def _steer(self, subflow: Subflow, syn: _HeldSyn, now_s: float) -> None:
        source, target = (self.hosts.with_mac(mac) for mac in (syn.segment.source_mac, syn.segment.destination_mac))
        assert source is not None and target is not None, "a SYN is admitted only between known hosts"
        path = self.choose(subflow, source.switch, target.switch, now_s)
        if path is None:
            self._release_unsteered(Outcome.NO_PATH, syn.release)
            return
        connection = self._connection_of(subflow)
        is_mptcp = connection.protocol == "mptcp"
        cookie = FlowCookie(RuleKind.FORWARD, connection.token, subflow.backup, subflow.joined, is_mptcp)
        placement = self.place(subflow.flow, path, source, target, cookie, now_s)

        def on_written(ok: bool) -> None:
            self.outcomes[Outcome.STEERED if ok else Outcome.WRITE_FAILED] += 1
            syn.release(placement.forward.actions if ok else None)
            if not ok:
                self._close(subflow)

        self.placements.write([placement], on_written)

    def _admit_pending_joins(self, now_s: float) -> None:
        for syn in self._pending_joins.pop_ready(now_s):
            if self.hosts.with_mac(syn.segment.destination_mac) and self.hosts.is_genuine(syn.segment, syn.ingress):
                self._admit(syn, now_s)
            else:  # a host has gone meanwhile
                self._release_unsteered(Outcome.NOT_GENUINE, syn.release)

    def _knows_token(self, flow: FlowKey, token: int | None) -> bool:
        return token is None or self.find_by_token(flow, token) is not None

    def _close(self, subflow: Subflow) -> None:
        current = self.table.find(subflow.flow)
        if current is not None and current.identity == subflow.identity:
            self.table.close(subflow.flow)
            self._remove(subflow.flow)

    def _remove(self, flow: FlowKey) -> None:
        self._finished.pop(flow, None)
        self.placements.remove(flow)

    def _close_orphaned_joins(self, connection_id: int) -> None:
        """Closes the unanswered joins of a connection that has no other subflow left: nobody will answer them."""
        connection = self.table.connection(connection_id)
        subflows = connection.subflows if connection is not None else ()
        if all(it.joined and it.state is State.PENDING for it in subflows):
            for subflow in subflows:
                self._close(subflow)

    def _release_unsteered(self, outcome: Outcome, release: Release) -> None:
        self.outcomes[outcome] += 1
        release(None)


class _PendingJoins:
    """The joins that wait for a token."""

    def __init__(self, is_known: Callable[[FlowKey, int | None], bool]) -> None:
        self._is_known = is_known
        self._joins: dict[FlowKey, _HeldSyn] = {}

    def add(self, syn: _HeldSyn) -> bool:
        """Keeps a SYN if it is a join that must wait; returns whether it is."""
        if self._is_known(syn.flow, syn.token):
            return False
        if len(self._joins) >= _MAX_PENDING or syn.flow in self._joins:
            return False
        self._joins[syn.flow] = syn
        return True

    def pop_ready(self, now_s: float) -> list[_HeldSyn]:
        """Removes and returns the joins whose connection is known by now, or that have waited long enough."""
        ready = [
            it
            for it in self._joins.values()
            if it.since_s + TOKEN_TIMEOUT_S <= now_s or self._is_known(it.flow, it.token)
        ]
        for it in ready:
            del self._joins[it.flow]
        return ready


class _RecentFlows:
    """The links of flows that are too new to show in their load, so that simultaneous flows do not all take one."""

    def __init__(self) -> None:
        self._added: deque[tuple[float, tuple[Edge, ...]]] = deque()
        self._on_link: Counter[Edge] = Counter()

    def add(self, edges: tuple[Edge, ...], now_s: float) -> None:
        self._forget_old(now_s)
        if edges:
            self._added.append((now_s, edges))
            self._on_link.update(edges)

    def per_link(self, now_s: float) -> Counter[Edge]:
        """Returns the number of recent flows on each link; read only."""
        self._forget_old(now_s)
        return self._on_link

    def _forget_old(self, now_s: float) -> None:
        while self._added and self._added[0][0] + LOAD_LAG_S <= now_s:
            self._on_link.subtract(self._added.popleft()[1])
