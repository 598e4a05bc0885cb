"""Reads flows and paths back from the switches' tables: without it a restart would forget every connection."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from controllers.network.paths import Edge, Hop, Path, Topology
from controllers.openflow.cookies import FlowCookie, Kind, read_path_cookie
from controllers.openflow.labels import INTERFACE_MASK, Labels
from controllers.openflow.messages import StoredRule
from controllers.openflow.rules import Action, MatchValue, Output, SetDestination, place_of
from controllers.openflow.steering_rules import Placed, Table
from controllers.packets.segments import FlowKey
from controllers.subflows.flows import Flows
from controllers.subflows.placements import Writes

Onward = Mapping[tuple[str, int], tuple[Action, ...]]

PATIENCE_S = 3.0
"""So long new connections wait for switches that are not there yet, and might have flows from before."""


@dataclass(frozen=True)
class FoundFlow:
    """A flow's rule for one of its directions, read back.

    Args:
        flow: in the direction of its SYN.
        cookie: of the rule, which tells the direction.
        path: that its label leads over, in the rule's direction; None if it leads nowhere.
        number: the path's; None for a flow that stays on one switch.
    """

    flow: FlowKey
    cookie: FlowCookie
    path: Path | None
    number: int | None


class Takeover:
    """Takes up what the switches have, once all have told it.

    Args:
        flows: where it goes.
        topology: the links.
        writer: deletes what belongs to nothing, and adds what is missing.
        expected: the switches that there should be, by name; None if nobody knows.

    Attributes:
        complete: whether it is done, or given up for switches that are not there.
        restored: flows taken up.
        lost: flows that could not be: their rules are gone, and they take the shortest path if they have not ended.
    """

    def __init__(self, flows: Flows, topology: Topology, writer: Writes, expected: Collection[str] | None) -> None:
        self.complete = False
        self.restored = 0
        self.lost = 0
        self._flows = flows
        self._topology = topology
        self._writer = writer
        self._expected = expected
        self._stored: dict[str, Sequence[StoredRule]] = {}
        self._give_up_s: float | None = None
        self._last_id = 0

    def answered(self, switch: str, rules: Sequence[StoredRule], labels: Labels, now_s: float) -> None:
        """A switch has told all its rules of steering."""
        self._stored[switch] = rules
        if self._give_up_s is None:
            self._give_up_s = now_s + PATIENCE_S
        everybody = self._expected is not None and self._stored.keys() >= set(self._expected)
        if self.complete or everybody:
            self._take_up(labels, now_s)

    def tick(self, labels: Labels, now_s: float) -> None:
        """To be called once in a while: does not wait for ever for a switch that is not there."""
        if not self.complete and self._give_up_s is not None and now_s > self._give_up_s:
            self._take_up(labels, now_s)

    def _take_up(self, labels: Labels, now_s: float) -> None:
        stored, self._stored = self._stored, {}
        found = list(found_flows(stored, self._topology, labels))
        for it in found:  # first all numbers of paths: none may be given to another path
            if it.path is not None and it.number is not None:
                self._flows.placements.paths.restore(it.path, it.number)
        answered = {it.flow for it in found if it.cookie.kind is Kind.BACK}
        for it in found:
            if it.cookie.kind is Kind.FORTH:
                taken = (it.flow in answered or not self._is_told(it.flow, stored)) and self._take(it, now_s)
                self.restored += taken
                self.lost += not taken
        for switch, rules in stored.items():
            self._settle(switch, rules)
        self.complete = True

    def _is_told(self, flow: FlowKey, stored: Collection[str]) -> bool:
        """Whether the switch that would have the rule for a flow's answers has told all its rules."""
        target = self._flows.hosts.with_address(flow.destination)
        return target is not None and target.switch in stored

    def _take(self, found: FoundFlow, now_s: float) -> bool:
        """Takes up a flow as its rule says; if that cannot be, its rules must go."""
        flow, path, cookie = found.flow, found.path, found.cookie
        hosts, placements = self._flows.hosts, self._flows.placements
        source, target = hosts.with_address(flow.source), hosts.with_address(flow.destination)
        if path is None or source is None or target is None or flow in placements.by_flow:
            return flow in placements.by_flow
        if path.switches[0] != source.switch or path.switches[-1] != target.switch:
            return False
        if found.number is not None and not placements.paths.restore(path, found.number):
            return False
        subflow = self._flows.table.restore(
            self._connection_of(cookie, flow),
            cookie.token,
            flow,
            placements.paths.number(path),
            ingress=source.plugged_into,
            now_s=now_s,
            protocol="mptcp" if cookie.mptcp else "tcp",
            backup=cookie.backup,
            joined=cookie.joined,
        )
        if subflow is None:
            return False
        placements.place(flow, path, source, target, cookie)
        return True

    def _connection_of(self, cookie: FlowCookie, flow: FlowKey) -> int:
        """The id under which a flow's connection is known already, or a new one."""
        if cookie.token is not None:
            known = self._flows.with_token(flow, cookie.token)
            if known is not None:
                return known.id
        self._last_id += 1
        while self._flows.table.connection(self._last_id) is not None:
            self._last_id += 1
        return self._last_id

    def _settle(self, switch: str, rules: Sequence[StoredRule]) -> None:
        """Makes a switch have what it should, and nothing else."""
        wanted = {place_of(placed.rule): placed for placed in self._flows.placements.rules_of(switch)}
        there = {place_of(stored.rule): stored for stored in rules}
        for place, stored in there.items():
            if place not in wanted and Kind.of(stored.cookie) in (Kind.FORTH, Kind.BACK, Kind.PATH):
                self._writer.delete(Placed(switch, stored.rule, stored.cookie))
        missing = [
            placed
            for place, placed in wanted.items()
            if place not in there
            or (there[place].rule.actions, there[place].cookie) != (placed.rule.actions, placed.cookie)
        ]
        self._writer.write([missing], lambda _ok: None)


def found_flows(stored: Mapping[str, Sequence[StoredRule]], topology: Topology, labels: Labels) -> Iterator[FoundFlow]:
    """The flows of which a switch has a rule, once for each direction.

    Args:
        stored: per switch, its rules with cookies of steering.
        topology: the links.
        labels: in use.
    """
    onward = {
        (switch, number): rule.rule.actions
        for switch, rules in stored.items()
        for rule in rules
        if (number := read_path_cookie(rule.cookie)) is not None
    }
    for switch, rules in stored.items():
        for rule in rules:
            cookie = FlowCookie.read(rule.cookie)
            flow = flow_of_match(rule.rule.match) if cookie is not None else None
            if flow is not None:
                path, number = _path_of(switch, rule, onward, topology, labels)
                yield FoundFlow(flow if cookie.kind is Kind.FORTH else flow.reversed(), cookie, path, number)


@dataclass(frozen=True)
class FoundHost:
    """A host's interface, read back from the rules of its switch.

    Args:
        mac: its address.
        addresses: its IP addresses, where only one interface is behind its port.
        port: of the switch.
        number: in labels.
    """

    mac: str
    addresses: tuple[str, ...]
    port: int
    number: int


def found_hosts(rules: Sequence[StoredRule], labels: Labels) -> Iterator[FoundHost]:
    """The hosts at a switch, of which its base rules tell."""
    found: dict[str, tuple[int, int]] = {}
    addresses: dict[int, list[str]] = {}
    for stored in rules:
        match, port = dict(stored.rule.match), _output(stored.rule.actions)
        mac = next((action.mac for action in stored.rule.actions if isinstance(action, SetDestination)), None)
        label = match.get("eth_dst")
        if stored.rule.table != Table.BASE or port is None:
            continue
        if mac is not None and isinstance(label, tuple) and label[1] == INTERFACE_MASK:
            numbers = labels.read(label[0])
            if numbers is not None:
                found[mac] = port, numbers[1]
        elif (address := match.get("arp_tpa") or match.get("ipv6_nd_target")) is not None:
            addresses.setdefault(port, []).append(str(ip_address(address)))
    at_port = Counter(port for port, _ in found.values())
    for mac, (port, number) in found.items():
        alone = at_port[port] == 1
        yield FoundHost(mac, tuple(addresses.get(port, ())) if alone else (), port, number)


def flow_of_match(fields: Iterable[tuple[str, MatchValue]]) -> FlowKey | None:
    """The flow that a rule matches, in the rule's direction; None if it matches none in particular."""
    match = dict(fields)
    family = "ipv4" if "ipv4_src" in match else "ipv6"
    try:
        source, destination = (str(ip_address(match[f"{family}_{end}"])) for end in ("src", "dst"))
        return FlowKey(source, destination, match["tcp_src"], match["tcp_dst"])
    except (KeyError, ValueError):
        return None


def _path_of(
    switch: str,
    stored: StoredRule,
    onward: Onward,
    topology: Topology,
    labels: Labels,
) -> tuple[Path | None, int | None]:
    """Follows a label from the switch where it is written."""
    actions = stored.rule.actions
    label = next((action.mac for action in actions if isinstance(action, SetDestination)), None)
    if label is None:
        return (Path((switch,), ()), None) if stored.rule.table == Table.FLOWS and actions else (None, None)
    numbers = labels.read(label)
    if numbers is None:
        return None, None
    hops: list[Hop] = []
    here, visited = switch, {switch}
    while (port := _output(actions)) is not None:
        edge = topology.edge_at(here, port)
        if edge is None:
            return None, None
        hops.append(_hop(here, edge))
        here = hops[-1].next_switch
        if here in visited:
            return None, None
        visited.add(here)
        actions = onward.get((here, numbers[0]), ())
    return Path((switch, *(hop.next_switch for hop in hops)), tuple(hops)), numbers[0]


def _output(actions: tuple[Action, ...]) -> int | None:
    return next((action.port for action in actions if isinstance(action, Output)), None)


def _hop(switch: str, edge: Edge) -> Hop:
    return Hop(*edge) if edge.switch == switch else Hop(*edge).reversed()
