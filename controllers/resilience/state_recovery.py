"""State recovery: a restarted controller reads flows and paths back from the rules in the switches."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from controllers.network.description import LARGEST_PORT
from controllers.network.paths import Hop, Path, Topology
from controllers.openflow.cookies import FlowCookie, RuleKind, path_number
from controllers.openflow.labels import INTERFACE_MASK, Labels
from controllers.openflow.rules import Action, Output, SetDestination, StoredRule, rule_key
from controllers.openflow.steering_rules import SwitchRule, Table, flow_of_match
from controllers.openflow.writes import Writer
from controllers.packets.segments import FlowKey
from controllers.subflows.connection_records import State, Subflow
from controllers.subflows.flows import Flows

PathActions = Mapping[tuple[str, int], tuple[Action, ...]]
"""The actions of path rules, by switch and path number."""

SWITCH_TIMEOUT_S = 3.0
"""Time for which new connections wait for switches that are not connected yet and might have rules of flows."""


@dataclass(frozen=True)
class StoredFlow:
    """One direction of a flow, read back from its rule.

    Args:
        flow: in the direction of its SYN; the cookie contains the direction of the rule.
        path: the path that the label leads over, in the rule's direction; None if it leads nowhere.
        number: the path's number; None for a flow that stays on one switch.
    """

    flow: FlowKey
    cookie: FlowCookie
    path: Path | None
    number: int | None


@dataclass
class StateRecovery:
    """Recovers flows when all switches have sent their rules.

    Args:
        expected: the names of all switches; None if they are not known.

    Attributes:
        is_complete: whether recovery is complete, or has given up on switches that are not connected.
        lost: flows that could not be recovered: their rules are deleted, and they take the shortest path.
    """

    flows: Flows
    writer: Writer
    expected: Collection[str] | None
    is_complete: bool = False
    restored: int = 0
    lost: int = 0
    _stored: dict[str, Sequence[StoredRule]] = field(default_factory=dict)
    _deadline_s: float | None = None

    def on_rules(self, switch: str, rules: Sequence[StoredRule], now_s: float) -> None:
        self._stored[switch] = rules
        if self._deadline_s is None:
            self._deadline_s = now_s + SWITCH_TIMEOUT_S
        has_all = self.expected is not None and self._stored.keys() >= set(self.expected)
        if self.is_complete or has_all:
            self._recover(now_s)

    def tick(self, now_s: float) -> None:
        """Stops waiting for switches that have not connected in time. To be called regularly."""
        if not self.is_complete and self._deadline_s is not None and now_s > self._deadline_s:
            self._recover(now_s)

    def _recover(self, now_s: float) -> None:
        stored, self._stored = self._stored, {}
        directions = list(stored_flows(stored, self.flows.topology, self.flows.placements.labels))
        for it in directions:  # all path numbers first, so that none of them is given to another path
            if it.path is not None and it.number is not None:
                self.flows.placements.paths.restore(it.path, it.number)
        has_reverse = {it.flow for it in directions if it.cookie.kind is RuleKind.REVERSE}
        for it in directions:
            if it.cookie.kind is RuleKind.FORWARD:
                is_whole = it.flow in has_reverse or not self._would_have_reverse(it.flow, stored)
                is_restored = is_whole and self._restore(it, now_s)
                self.restored += is_restored
                self.lost += not is_restored
        for switch, rules in stored.items():
            self._correct(switch, rules)
        self.is_complete = True

    def _would_have_reverse(self, flow: FlowKey, stored: Collection[str]) -> bool:
        """Returns whether the switch that has the rule for a flow's answers, if the flow lives, has sent its rules."""
        target = self.flows.hosts.with_address(flow.destination)
        return target is not None and target.switch in stored

    def _restore(self, stored: StoredFlow, now_s: float) -> bool:
        """Adds a flow as its rule describes it; returns False if that is impossible."""
        flow, path, cookie = stored.flow, stored.path, stored.cookie
        hosts, placements = self.flows.hosts, self.flows.placements
        source, target = hosts.with_address(flow.source), hosts.with_address(flow.destination)
        if path is None or source is None or target is None or flow in placements.by_flow:
            return flow in placements.by_flow
        if path.switches[0] != source.switch or path.switches[-1] != target.switch:
            return False
        if stored.number is not None and not placements.paths.restore(path, stored.number):
            return False
        known = self.flows.find_by_token(flow, cookie.token) if cookie.token is not None else None
        connection, number = known.id if known else self.flows.table.next_id(), placements.paths.number(path)
        ingress, state = source.plugged_into, State.ESTABLISHED
        subflow = Subflow(connection, flow, ingress, state, number, cookie.backup, cookie.joined, now_s)
        protocol = "mptcp" if cookie.mptcp else "tcp"
        if self.flows.table.restore(subflow, token=cookie.token, protocol=protocol) is None:
            return False
        placements.place(flow, path, source, target, cookie)
        return True

    def _correct(self, switch: str, rules: Sequence[StoredRule]) -> None:
        """Deletes the rules of a switch that belong to no flow, and adds missing ones."""
        wanted = {rule_key(it.rule): it for it in self.flows.placements.rules_of(switch)}
        present = {rule_key(it.rule): it for it in rules}
        for key, stored in present.items():
            kind = RuleKind.of(stored.cookie)
            if key not in wanted and kind in (RuleKind.FORWARD, RuleKind.REVERSE, RuleKind.PATH):
                self.writer.delete(SwitchRule(switch, stored.rule, stored.cookie))
        missing = [
            it
            for key, it in wanted.items()
            if key not in present or (present[key].rule.actions, present[key].cookie) != (it.rule.actions, it.cookie)
        ]
        self.writer.write([missing], lambda _ok: None)


def stored_flows(
    stored: Mapping[str, Sequence[StoredRule]], topology: Topology, labels: Labels
) -> Iterator[StoredFlow]:
    """Yields the flows that switches have rules for, each direction separately."""
    path_actions = {
        (switch, number): stored_rule.rule.actions
        for switch, rules in stored.items()
        for stored_rule in rules
        if (number := path_number(stored_rule.cookie)) is not None
    }
    for switch, rules in stored.items():
        for stored_rule in rules:
            cookie = FlowCookie.decode(stored_rule.cookie)
            flow = flow_of_match(stored_rule.rule.match) if cookie is not None else None
            if cookie is not None and flow is not None:
                path, number = _follow_label(switch, stored_rule, path_actions, topology, labels)
                yield StoredFlow(flow if cookie.kind is RuleKind.FORWARD else flow.reversed(), cookie, path, number)


@dataclass(frozen=True)
class StoredHost:
    """A host's interface, read back from the rules of its switch: no addresses if several are behind its port."""

    mac: str
    addresses: tuple[str, ...]
    port: int
    number: int


def stored_hosts(rules: Sequence[StoredRule], labels: Labels) -> Iterator[StoredHost]:
    """Yields the hosts that the base rules of a switch describe."""
    interfaces: dict[str, tuple[int, int]] = {}
    addresses: dict[int, list[str]] = {}
    for stored in rules:
        match, port, mac = dict(stored.rule.match), _output(stored.rule.actions), _destination(stored.rule.actions)
        label = match.get("eth_dst")
        if stored.rule.table != Table.BASE or port is None or not 1 <= port <= LARGEST_PORT:
            continue
        if mac is not None and isinstance(label, tuple) and label[1] == INTERFACE_MASK:
            numbers = labels.decode(label[0])
            if numbers is not None:
                interfaces[mac] = port, numbers[1]
        elif isinstance(address := match.get("arp_tpa") or match.get("ipv6_nd_target"), str):
            addresses.setdefault(port, []).append(str(ip_address(address)))
    at_port = Counter(port for port, _ in interfaces.values())
    for mac, (port, number) in interfaces.items():
        is_alone = at_port[port] == 1
        yield StoredHost(mac, tuple(addresses.get(port, ())) if is_alone else (), port, number)


def _follow_label(
    switch: str, stored: StoredRule, path_actions: PathActions, topology: Topology, labels: Labels
) -> tuple[Path | None, int | None]:
    """Returns the path of a flow's label from the switch that writes it, and the path's number."""
    actions = stored.rule.actions
    label = _destination(actions)
    if label is None:
        return (Path.over(switch, ()), None) if stored.rule.table == Table.FLOWS and actions else (None, None)
    numbers = labels.decode(label)
    if numbers is None:
        return None, None
    hops: list[Hop] = []
    here, visited = switch, {switch}
    while (port := _output(actions)) is not None:
        edge = topology.edge_at(here, port)
        if edge is None:
            return None, None
        hops.append(edge.hop_from(here))
        here = hops[-1].next_switch
        if here in visited:
            return None, None
        visited.add(here)
        actions = path_actions.get((here, numbers[0]), ())
    return Path.over(switch, hops), numbers[0]


def _output(actions: tuple[Action, ...]) -> int | None:
    return next((action.port for action in actions if isinstance(action, Output)), None)


def _destination(actions: tuple[Action, ...]) -> str | None:
    return next((action.mac for action in actions if isinstance(action, SetDestination)), None)
