"""What becomes of a flow from its SYN to its end: without it a known connection would still be unsteered.

Nothing here knows os-ken: what time it is, and how a held SYN is sent on, comes from the caller.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from enum import StrEnum

from controllers.network.description import Interface, Network, SwitchPort
from controllers.network.hosts import KnownHosts
from controllers.network.paths import Path, Topology
from controllers.openflow.cookies import FlowCookie, Kind
from controllers.openflow.labels import Interfaces, Labels
from controllers.openflow.steering_rules import IDLE_CONNECTION_S
from controllers.packets.mptcp_options import parse
from controllers.packets.segments import FIN, RST, FlowKey, Segment
from controllers.subflows.connections import Connection, ConnectionTable, State, Subflow, Verdict
from controllers.subflows.pending_joins import EarlyJoins, HeldSyn, Release
from controllers.subflows.placements import Placement, Placements, Writes
from controllers.subflows.policies import Policy
from controllers.subflows.recent_flows import RecentFlows


class Outcome(StrEnum):
    """What became of a SYN."""

    STEERED = "steered"
    REPEATED = "repeated"
    UNKNOWN_TOKEN = "unknown_token"
    REFUSED = "refused"
    NOT_GENUINE = "not_genuine"  # an address that is another port's
    NO_PATH = "no_path"
    WRITE_FAILED = "write_failed"


class Flows:
    """The flows that are known.

    Args:
        topology: what paths there are.
        policy: which of them a flow gets.
        writer: takes what is to be written.
        knows_hosts: whether the network says which interfaces are one host's. If not, tokens are taken as unique in all
            of it.

    Attributes:
        hosts: who has which address.
        table: the connections.
        placements: which flow is on which path.
        outcomes: SYNs by what became of them.
    """

    def __init__(self, topology: Topology, policy: Policy, writer: Writes, *, knows_hosts: bool = True) -> None:
        self.topology = topology
        self.policy = policy
        self.hosts = KnownHosts()
        self.table = ConnectionTable(host_of=self.hosts.name_at) if knows_hosts else ConnectionTable()
        self.placements = Placements(writer)
        self.outcomes: Counter[Outcome] = Counter()
        self._knows_hosts = knows_hosts
        self._early = EarlyJoins(self._knows)
        self._recent = RecentFlows()
        self._finished: dict[FlowKey, set[FlowKey]] = {}
        self._packets: dict[FlowKey, tuple[int, float]] = {}

    def use(self, network: Network, labels: Labels, interfaces: Interfaces) -> None:
        """Takes up what is known of the hosts, now or anew."""
        self.hosts.use(network)
        self.placements.use(labels, interfaces)

    def syn(self, segment: Segment, ingress: SwitchPort, release: Release, now_s: float) -> None:
        """A SYN that the switch holds; `release` is called once, at once or when its rules are in place."""
        target = self.hosts.with_mac(segment.destination_mac)
        if target is None or not self.hosts.is_genuine(segment, ingress):
            self._release_unsteered(Outcome.NOT_GENUINE, release)
            return
        syn = HeldSyn(segment, parse(segment.options), ingress, release, now_s)
        if not self._early.keeps(syn):
            self._admit(syn, now_s)

    def watched_syn(self, segment: Segment, ingress: SwitchPort, now_s: float) -> None:
        """A copy of a SYN for which the switch itself has chosen a path."""
        if self.hosts.is_genuine(segment, ingress):
            admission = self.table.syn(segment, parse(segment.options), ingress, now_s)
            for removed in admission.removed:
                self._give_up(removed.flow)

    def syn_ack(self, segment: Segment, ingress: SwitchPort, now_s: float) -> None:
        """A copy of a SYN/ACK: from now on the flow's rule carries the token of its connection."""
        if not self.hosts.is_genuine(segment, ingress):
            return
        options = parse(segment.options)
        subflow = self.table.syn_ack(segment, options, now_s)
        if options.capable is not None:
            self._admit_early(now_s)
        connection = self.table.connection(subflow.connection) if subflow else None
        if connection is not None:
            self.placements.tell_token(subflow.flow, connection.token)

    def ending(self, segment: Segment, ingress: SwitchPort, now_s: float) -> None:
        """A copy of a FIN or RST: the flow has ended with FINs from both ends, or with one RST."""
        subflow = self.table.find(segment.flow)
        if subflow is None or not self.hosts.is_genuine(segment, ingress):
            return
        if segment.flags & FIN:
            self._finished.setdefault(subflow.flow, set()).add(segment.flow)
        if segment.flags & RST or len(self._finished.get(subflow.flow, ())) == 2:
            self.table.closed(subflow.flow)
            self._finished.pop(subflow.flow, None)
            self.placements.end(subflow.flow, now_s)
            self._give_up_hopeless(subflow.connection)

    def evicted(self, flow: FlowKey) -> None:
        """A switch has evicted the rule of one direction of a flow, for nothing has matched it for long."""
        subflow = self.table.find(flow)
        if subflow is not None:
            self._close(subflow)

    def tick(self, now_s: float) -> None:
        """To be called once in a while: forgets what is over."""
        self._admit_early(now_s)
        for expired in self.table.expire(now_s):
            self._give_up(expired.flow)
        self.placements.tick(now_s)

    def note_packets(self, counted: Iterable[tuple[FlowKey, int]], now_s: float) -> None:
        """Takes what rules have counted, and gives up connections of which nothing has been seen for long.

        Args:
            counted: flows, in the direction of their rule, with the packets that their rule has matched.
            now_s: the time.
        """
        for flow, packets in counted:
            subflow = self.table.find(flow)
            if subflow is not None and self._packets.get(flow, (-1, 0.0))[0] != packets:
                self._packets[flow] = packets, now_s
        self._packets = {flow: seen for flow, seen in self._packets.items() if self.table.find(flow) is not None}
        for connection in self.table.connections():
            both_ways = [way for it in connection.subflows for way in (it.flow, it.flow.reversed())]
            active_s = max(self._packets.get(flow, (0, connection.opened_s))[1] for flow in both_ways)
            if now_s - active_s > IDLE_CONNECTION_S:
                for subflow in connection.subflows:
                    self._close(subflow)

    def choose(self, subflow: Subflow, source: str, target: str, now_s: float) -> Path | None:
        """The path for a flow between two switches, or None if there is no way."""
        if source == target:
            return Path((source,), ())
        connection = self.table.connection(subflow.connection)
        others = [other.flow for other in connection.subflows if other.flow != subflow.flow]
        in_use = Counter(edge for flow in others for edge in self.placements.edges_of(flow))
        return self.policy.choose(
            self.topology,
            source,
            target,
            in_use,
            flow=subflow.flow,
            multipath=connection.protocol == "mptcp",
            recent=self._recent.per_link(now_s),
        )

    def place(
        self, flow: FlowKey, path: Path, source: Interface, target: Interface, cookie: FlowCookie, now_s: float
    ) -> Placement:
        """Notes that a flow takes a path from now on; its rules are still to be written."""
        self._recent.add(path.edges, now_s)
        placement = self.placements.place(flow, path, source, target, cookie)
        self.table.place(flow, placement.number)
        return placement

    def with_token(self, flow: FlowKey, token: int) -> Connection | None:
        """The connection that a join on this flow, with this token, is for."""
        host: Hashable = self.hosts.name_at(flow.destination) if self._knows_hosts else None
        return self.table.with_token(host, token)

    def _admit(self, syn: HeldSyn, now_s: float) -> None:
        admission = self.table.syn(syn.segment, syn.options, syn.ingress, now_s)
        for removed in admission.removed:
            self._give_up(removed.flow)
        match admission.verdict:
            case Verdict.UNKNOWN_TOKEN:
                self._release_unsteered(Outcome.UNKNOWN_TOKEN, syn.release)
            case Verdict.REFUSED:
                self._release_unsteered(Outcome.REFUSED, syn.release)
            case Verdict.REPEATED:
                self.outcomes[Outcome.REPEATED] += 1
                placement = self.placements.by_flow.get(syn.flow)
                syn.release(placement.forth.actions if placement else None)
            case _:
                self._steer(admission.subflow, syn, now_s)

    def _steer(self, subflow: Subflow, syn: HeldSyn, now_s: float) -> None:
        source, target = (self.hosts.with_mac(mac) for mac in (syn.segment.source_mac, syn.segment.destination_mac))
        path = self.choose(subflow, source.switch, target.switch, now_s)
        if path is None:
            self._release_unsteered(Outcome.NO_PATH, syn.release)
            return
        connection = self.table.connection(subflow.connection)
        is_mptcp = connection.protocol == "mptcp"
        cookie = FlowCookie(Kind.FORTH, connection.token, subflow.backup, subflow.joined, is_mptcp)
        placement = self.place(subflow.flow, path, source, target, cookie, now_s)

        def written(ok: bool) -> None:
            self.outcomes[Outcome.STEERED if ok else Outcome.WRITE_FAILED] += 1
            syn.release(placement.forth.actions if ok else None)
            if not ok:
                self._close(subflow)

        self.placements.write([placement], written)

    def _admit_early(self, now_s: float) -> None:
        for syn in self._early.due(now_s):
            if self.hosts.with_mac(syn.segment.destination_mac) and self.hosts.is_genuine(syn.segment, syn.ingress):
                self._admit(syn, now_s)
            else:  # a host has gone meanwhile
                self._release_unsteered(Outcome.NOT_GENUINE, syn.release)

    def _knows(self, token: int | None, flow: FlowKey) -> bool:
        return token is None or self.with_token(flow, token) is not None

    def _close(self, subflow: Subflow) -> None:
        self.table.closed(subflow.flow)
        self._give_up(subflow.flow)

    def _give_up(self, flow: FlowKey) -> None:
        self._finished.pop(flow, None)
        self.placements.give_up(flow)

    def _give_up_hopeless(self, connection_id: int) -> None:
        """Forgets joins that nobody has answered, of a connection that has ended: nobody will."""
        connection = self.table.connection(connection_id)
        left = connection.subflows if connection is not None else ()
        if all(it.joined and it.state is State.PENDING for it in left):
            for subflow in left:
                self._close(subflow)

    def _release_unsteered(self, outcome: Outcome, release: Release) -> None:
        self.outcomes[outcome] += 1
        release(None)
