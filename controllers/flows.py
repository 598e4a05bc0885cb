"""Which flow is on which path, and what must be written for it: without it a known connection would still be unsteered.

Nothing here knows os-ken: what is to be written goes to a `Writer`, what time it is comes from the caller.
"""

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from controllers.connections import Connection, ConnectionTable, State, Subflow, Verdict
from controllers.cookies import FlowCookie, Kind
from controllers.labels import Interfaces, Labels, Paths
from controllers.mptcp_options import MptcpOptions, parse
from controllers.network import Interface, Network, SwitchPort
from controllers.paths import Edge, Path, Topology
from controllers.policies import Policy
from controllers.rules import Action
from controllers.segments import FIN, RST, FlowKey, Segment
from controllers.steering_rules import IDLE_CONNECTION_S, Direction, Placed, path_rules

LINGER_S = 3.0
"""So long the rules of an ended flow stay, for what of it is still on its way."""

JOIN_PATIENCE_S = 0.1
"""So long a join waits for its connection's token, before it counts as unknown."""

_MANY_PATHS = 4096
_MANY_EARLY = 256

Release = Callable[[tuple[Action, ...] | None], None]
"""Sends a held SYN on: with these actions, or with None by forwarding's rules."""


class Writes(Protocol):
    """What is needed of `controllers.writes.Writer`."""

    def write(self, stages: Iterable[Iterable[Placed]], done: Callable[[bool], None]) -> None:
        """See there."""

    def delete(self, placed: Placed) -> None:
        """See there."""


class Outcome(StrEnum):
    """What became of a SYN."""

    STEERED = "steered"
    REPEATED = "repeated"
    UNKNOWN_TOKEN = "unknown_token"
    REFUSED = "refused"
    NOT_GENUINE = "not_genuine"  # an address that is another port's
    NO_PATH = "no_path"
    WRITE_FAILED = "write_failed"


@dataclass(frozen=True)
class Placement:
    """A flow on a path: both directions, and what their rules are.

    Args:
        number: of the path in the direction of the SYN.
        forth, back: the two directions.
        cookie: of the rule of `forth`.
        is_subflow: whether it is (or asks to be) one of MPTCP.
    """

    number: int
    forth: Direction
    back: Direction
    cookie: FlowCookie
    is_subflow: bool

    @property
    def rules(self) -> tuple[Placed, Placed]:
        """The rule where the answers enter, then that where the SYN does."""
        back = replace(self.cookie, kind=Kind.BACK)
        return (
            self.back.placed(back, is_subflow=self.is_subflow),
            self.forth.placed(self.cookie, is_subflow=self.is_subflow),
        )


@dataclass(frozen=True)
class _EarlyJoin:
    """A join that has overtaken the SYN/ACK which tells its token: they come from different switches.

    Args:
        segment, options, ingress, release: as in `Flows.syn`.
        until_s: it does not wait longer.
    """

    segment: Segment
    options: MptcpOptions
    ingress: SwitchPort
    release: Release
    until_s: float

    @property
    def flow(self) -> FlowKey:
        """Its addresses and ports."""
        return self.segment.flow


@dataclass
class MovePlan:
    """What has to be written so that flows take other paths.

    Attributes:
        moved, stayed: flows that get another path, and that have no other.
        path_rules, flow_rules: to be written in this order.
        fresh: numbers of the paths in `path_rules`.
    """

    moved: int = 0
    stayed: int = 0
    path_rules: list[Placed] = field(default_factory=list)
    flow_rules: list[Placed] = field(default_factory=list)
    fresh: set[int] = field(default_factory=set)


class Flows:
    """The flows that have a path.

    Args:
        topology: what paths there are.
        policy: which of them a flow gets.
        writer: takes what is to be written.
        knows_hosts: whether the network says which interfaces are one host's. If not, tokens are taken as unique in all
            of it.

    Attributes:
        table: the connections.
        paths: their numbers.
        placements: by flow, in the direction of its SYN.
        outcomes: SYNs by what became of them.
    """

    def __init__(self, topology: Topology, policy: Policy, writer: Writes, *, knows_hosts: bool = True) -> None:
        self.topology = topology
        self.policy = policy
        self.table = ConnectionTable(host_of=self._host_at) if knows_hosts else ConnectionTable()
        self._knows_hosts = knows_hosts
        self._early: dict[FlowKey, _EarlyJoin] = {}
        self.paths = Paths()
        self.outcomes: Counter[Outcome] = Counter()
        self.placements: dict[FlowKey, Placement] = {}
        self._writer = writer
        self._written: set[int] = set()
        self._finished: dict[FlowKey, set[FlowKey]] = {}
        self._lingering: deque[tuple[float, Placement]] = deque()
        self._restored_id = 0
        self._packets: dict[FlowKey, tuple[int, float]] = {}
        self._labels, self._interfaces = Labels(), Interfaces()
        self._by_mac: Mapping[str, Interface] = {}
        self._by_address: Mapping[str, Interface] = {}
        self._hosts: Mapping[Interface, str] = {}

    def use(self, network: Network, labels: Labels, interfaces: Interfaces) -> None:
        """Takes up what is known of the hosts, now or anew."""
        self._labels, self._interfaces = labels, interfaces
        self._hosts = {it: host.name for host in network.hosts for it in host.interfaces}
        self._by_mac = {it.mac: it for it in network.interfaces}
        self._by_address = {address: it for it in network.interfaces for address in it.addresses}

    def syn(self, segment: Segment, ingress: SwitchPort, release: Release, now_s: float) -> None:
        """A SYN that the switch holds; `release` is called once, at once or when its rules are in place."""
        source, target = self._by_mac.get(segment.source_mac), self._by_mac.get(segment.destination_mac)
        if source is None or target is None or not self.is_genuine(segment, ingress):
            self._release_unsteered(Outcome.NOT_GENUINE, release)
            return
        options = parse(segment.options)
        if options.join is not None and not self._knows(options.join.token, segment.flow):
            early = _EarlyJoin(segment, options, ingress, release, now_s + JOIN_PATIENCE_S)
            if len(self._early) < _MANY_EARLY and early.flow not in self._early:
                self._early[early.flow] = early
                return
        self._admit(segment, options, ingress, release, now_s)

    def _admit(
        self, segment: Segment, options: MptcpOptions, ingress: SwitchPort, release: Release, now_s: float
    ) -> None:
        source, target = self._by_mac[segment.source_mac], self._by_mac[segment.destination_mac]
        admission = self.table.syn(segment, options, ingress, now_s)
        for removed in admission.removed:
            self._give_up(removed.flow)
        match admission.verdict:
            case Verdict.UNKNOWN_TOKEN:
                self._release_unsteered(Outcome.UNKNOWN_TOKEN, release)
            case Verdict.REFUSED:
                self._release_unsteered(Outcome.REFUSED, release)
            case Verdict.REPEATED:
                self.outcomes[Outcome.REPEATED] += 1
                placement = self.placements.get(segment.flow)
                release(placement.forth.actions if placement else None)
            case _:
                self._steer(admission.subflow, source, target, release)

    def watched_syn(self, segment: Segment, ingress: SwitchPort, now_s: float) -> None:
        """A copy of a SYN for which the switch itself has chosen a path."""
        if self.is_genuine(segment, ingress):
            admission = self.table.syn(segment, parse(segment.options), ingress, now_s)
            for removed in admission.removed:
                self._give_up(removed.flow)

    def syn_ack(self, segment: Segment, ingress: SwitchPort, now_s: float) -> None:
        """A copy of a SYN/ACK: from now on the flow's rule carries the token of its connection."""
        if not self.is_genuine(segment, ingress):
            return
        options = parse(segment.options)
        subflow = self.table.syn_ack(segment, options, now_s)
        if options.capable is not None:
            self._admit_early(now_s)
        placement = self.placements.get(subflow.flow) if subflow else None
        if placement is None:
            return
        connection = self.table.connection(subflow.connection)
        if connection is not None and connection.token not in (None, placement.cookie.token):
            cookie = replace(placement.cookie, token=connection.token)
            self.placements[subflow.flow] = placement = replace(placement, cookie=cookie)
            self._writer.write([placement.rules[1:]], lambda _ok: None)

    def ending(self, segment: Segment, ingress: SwitchPort, now_s: float) -> None:
        """A copy of a FIN or RST: the flow has ended with FINs from both ends, or with one RST."""
        subflow = self.table.find(segment.flow)
        if subflow is None or not self.is_genuine(segment, ingress):
            return
        if segment.flags & FIN:
            self._finished.setdefault(subflow.flow, set()).add(segment.flow)
        if segment.flags & RST or len(self._finished.get(subflow.flow, ())) == 2:
            self.table.closed(subflow.flow)
            self._finished.pop(subflow.flow, None)
            if placement := self.placements.pop(subflow.flow, None):
                self._lingering.append((now_s + LINGER_S, placement))
            self._give_up_hopeless(subflow.connection)

    def evicted(self, flow: FlowKey) -> None:
        """A switch has evicted the rule of one direction of a flow, for nothing has matched it for long."""
        subflow = self.table.find(flow)
        if subflow is not None:
            self.table.closed(flow)
            self._give_up(subflow.flow)

    def tick(self, now_s: float) -> None:
        """To be called once in a while: forgets what is over."""
        self._admit_early(now_s)
        for expired in self.table.expire(now_s):
            self._give_up(expired.flow)
        while self._lingering and self._lingering[0][0] <= now_s:
            self._erase(self._lingering.popleft()[1])

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
                    self.table.closed(subflow.flow)
                    self._give_up(subflow.flow)

    def plan_move(self, flows: Iterable[FlowKey]) -> "MovePlan":
        """Chooses paths for flows anew; they count as moved from now on. `write_move` must follow.

        Args:
            flows: those that have no other path than now stay.
        """
        plan = MovePlan()
        for flow in flows:
            before = self.placements[flow]
            path = self._choose(self.table.find(flow), before.forth.source.switch, before.forth.target.switch)
            if path is None or path == before.forth.path:
                plan.stayed += 1
                continue
            after = self._place(flow, path, before.forth.source, before.forth.target, before.cookie, before.is_subflow)
            plan.path_rules += self._path_stage(after, plan.fresh)
            plan.flow_rules += after.rules
            plan.moved += 1
        return plan

    def write_move(self, plan: "MovePlan", done: Callable[[bool], None]) -> None:
        """Writes a plan, all flows at once; `done` is called when all switches have confirmed it, or one has not."""
        self._write(plan.path_rules, plan.flow_rules, plan.fresh, done)

    def flows_on(self, edge: Edge) -> tuple[FlowKey, ...]:
        """The flows whose path crosses a link, in no order of importance but always the same."""
        return tuple(flow for flow, placed in self.placements.items() if edge in placed.forth.path.edges)

    def flows_that_share(self) -> tuple[FlowKey, ...]:
        """Subflows that share a link with another one of their connection: one of each such pair."""
        found = []
        for connection in self.table.connections():
            crossed: Counter[Edge] = Counter()
            for subflow in connection.subflows:
                edges = self._edges_of(subflow.flow)
                if any(crossed[edge] for edge in edges):
                    found.append(subflow.flow)
                crossed.update(edges)
        return tuple(found)

    def restored(self, flow: FlowKey, path: Path | None, number: int | None, cookie: FlowCookie, now_s: float) -> bool:
        """Takes up a flow from the rule that a switch has for it.

        Args:
            flow: in the direction of its SYN.
            path: where it goes; None if that cannot be told any more.
            number: the path's.
            cookie: of the rule.
            now_s: the time.

        Returns:
            Whether the flow is taken up as it is; if not, its rules must go.
        """
        source, target = self._by_address.get(flow.source), self._by_address.get(flow.destination)
        if path is None or source is None or target is None or flow in self.placements:
            return flow in self.placements
        if path.switches[0] != source.switch or path.switches[-1] != target.switch:
            return False
        if number is not None and not self.paths.restore(path, number):
            return False
        connection = self._connection_of(cookie, flow)
        subflow = self.table.restore(
            connection,
            cookie.token,
            flow,
            self.paths.number(path),
            ingress=source.plugged_into,
            now_s=now_s,
            protocol="mptcp" if cookie.mptcp else "tcp",
            backup=cookie.backup,
            joined=cookie.joined,
        )
        if subflow is None:
            return False
        self._place(flow, path, source, target, cookie, cookie.mptcp)
        return True

    def rules_of(self, switch: str) -> Iterator[Placed]:
        """All rules of flows and their paths that a switch must have now."""
        used = {number for placement in self.placements.values() for number in self._numbers(placement)}
        for number in used:
            yield from (it for it in path_rules(self.paths.path(number), number, self._labels) if it.switch == switch)
        for placement in self.placements.values():
            yield from (it for it in placement.rules if it.switch == switch)

    def is_genuine(self, segment: Segment, ingress: SwitchPort) -> bool:
        """Whether a segment comes from where its addresses are: nobody can end or divert another's flow."""
        source, owner = self._by_mac.get(segment.source_mac), self._by_address.get(segment.flow.source)
        if source is None or source.plugged_into != ingress:
            return False
        return owner is None or self._hosts[owner] == self._hosts[source]

    def _admit_early(self, now_s: float) -> None:
        """Joins whose connection is known by now, or that have waited long enough."""
        due = [it for it in self._early.values() if it.until_s <= now_s or self._knows(it.options.join.token, it.flow)]
        for early in due:
            del self._early[early.flow]
            if {early.segment.source_mac, early.segment.destination_mac} <= self._by_mac.keys():
                self._admit(early.segment, early.options, early.ingress, early.release, now_s)

    def _knows(self, token: int | None, flow: FlowKey) -> bool:
        return token is None or self._with_token(flow, token) is not None

    def _with_token(self, flow: FlowKey, token: int) -> Connection | None:
        host = self._host_at(flow.destination) if self._knows_hosts else None
        return self.table.with_token(host, token)

    def _steer(self, subflow: Subflow, source: Interface, target: Interface, release: Release) -> None:
        path = self._choose(subflow, source.switch, target.switch)
        if path is None:
            self._release_unsteered(Outcome.NO_PATH, release)
            return
        connection = self.table.connection(subflow.connection)
        is_mptcp = connection.protocol == "mptcp"
        cookie = FlowCookie(Kind.FORTH, connection.token, subflow.backup, subflow.joined, is_mptcp)
        placement = self._place(subflow.flow, path, source, target, cookie, is_mptcp)
        fresh: set[int] = set()

        def written(ok: bool) -> None:
            self.outcomes[Outcome.STEERED if ok else Outcome.WRITE_FAILED] += 1
            release(placement.forth.actions if ok else None)
            if not ok:
                self.table.closed(subflow.flow)
                self._give_up(subflow.flow)

        self._write(self._path_stage(placement, fresh), placement.rules, fresh, written)

    def _choose(self, subflow: Subflow, source: str, target: str) -> Path | None:
        if source == target:
            return Path((source,), ())
        connection = self.table.connection(subflow.connection)
        others = [other.flow for other in connection.subflows if other.flow != subflow.flow]
        in_use = Counter(edge for flow in others for edge in self._edges_of(flow))
        multipath = connection.protocol == "mptcp"
        return self.policy.choose(self.topology, source, target, in_use, flow=subflow.flow, multipath=multipath)

    def _place(
        self, flow: FlowKey, path: Path, source: Interface, target: Interface, cookie: FlowCookie, is_subflow: bool
    ) -> Placement:
        back_path = path.reversed()
        self._free_path_numbers()
        number, back_number = self.paths.number(path), self.paths.number(back_path)
        forth_label = self._labels.label(number, self._interfaces.number(target.mac))
        back_label = self._labels.label(back_number, self._interfaces.number(source.mac))
        forth = Direction(flow, source, target, path, forth_label)
        back = Direction(flow.reversed(), target, source, back_path, back_label)
        self.placements[flow] = placement = Placement(number, forth, back, cookie, is_subflow)
        self.table.place(flow, number)
        return placement

    def _path_stage(self, placement: Placement, fresh: set[int]) -> list[Placed]:
        """The rules of its paths, if the switches have not confirmed them yet; notes their numbers in `fresh`."""
        rules: list[Placed] = []
        for direction, number in zip((placement.back, placement.forth), self._numbers(placement)[::-1], strict=True):
            if number not in self._written and number not in fresh:
                fresh.add(number)
                rules += path_rules(direction.path, number, self._labels)
        return rules

    def _write(
        self, path_stage: Iterable[Placed], flow_stage: Iterable[Placed], fresh: set[int], done: Callable[[bool], None]
    ) -> None:
        def all_written(ok: bool) -> None:
            if ok:
                self._written |= fresh
            done(ok)

        self._writer.write([path_stage, flow_stage], all_written)

    def forget_written(self, switch: str) -> None:
        """A switch has connected anew: what it has is not known."""
        self._written = {number for number in self._written if switch not in self.paths.path(number).switches}

    def _numbers(self, placement: Placement) -> tuple[int, int]:
        return placement.number, self.paths.number(placement.back.path)

    def _edges_of(self, flow: FlowKey) -> tuple[Edge, ...]:
        placement = self.placements.get(flow)
        return placement.forth.path.edges if placement else ()

    def _free_path_numbers(self) -> None:
        """Paths of a topology that changes again and again are forgotten when there are many; their rules are few."""
        if len(self.paths) < _MANY_PATHS:
            return
        placed = (*self.placements.values(), *(placement for _, placement in self._lingering))
        used = {number for placement in placed for number in self._numbers(placement)}
        rules = {number: path_rules(self.paths.path(number), number, self._labels) for number in self._written - used}
        for number in self.paths.forget_all_but(used):
            self._written.discard(number)
            for placed_rule in rules.get(number, ()):
                self._writer.delete(placed_rule)

    def _give_up(self, flow: FlowKey) -> None:
        """Forgets a flow that has no packets on their way."""
        self._finished.pop(flow, None)
        placement = self.placements.pop(flow, None)
        if placement is not None:
            self._erase(placement)

    def _erase(self, placement: Placement) -> None:
        """Deletes the rules of a flow, unless the same addresses and ports have begun another one meanwhile."""
        if placement.forth.flow not in self.placements and placement.back.flow not in self.placements:
            for placed in placement.rules:
                self._writer.delete(placed)

    def _give_up_hopeless(self, connection_id: int) -> None:
        """Forgets joins that nobody has answered, of a connection that has ended: nobody will."""
        connection = self.table.connection(connection_id)
        left = connection.subflows if connection is not None else ()
        if all(it.joined and it.state is State.PENDING for it in left):
            for subflow in left:
                self.table.closed(subflow.flow)
                self._give_up(subflow.flow)

    def _release_unsteered(self, outcome: Outcome, release: Release) -> None:
        self.outcomes[outcome] += 1
        release(None)

    def _connection_of(self, cookie: FlowCookie, flow: FlowKey) -> int:
        """The id under which a restored flow's connection is known already, or a new one."""
        if cookie.token is not None:
            known = self._with_token(flow, cookie.token)
            if known is not None:
                return known.id
        self._restored_id += 1
        while self.table.connection(self._restored_id) is not None:
            self._restored_id += 1
        return self._restored_id

    def _host_at(self, address: str) -> Hashable:
        interface = self._by_address.get(address)
        return self._hosts[interface] if interface else None
