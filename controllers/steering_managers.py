"""Makes the managers of steering, and the table that says which of them handle which event.

Steering gives each TCP flow, and each subflow of MPTCP, a path of its own. It extends shortest-path forwarding, whose
rules carry all that is not steered.
"""

import time
from collections.abc import Callable
from functools import partial

from controllers.discovery.discovery import Discovery
from controllers.discovery.discovery_manager import DiscoveryManager
from controllers.flow_manager import FlowManager
from controllers.forwarding.frame_sender import FrameSender
from controllers.forwarding.link_manager import LinkManager
from controllers.forwarding.link_monitor import LinkMonitor
from controllers.forwarding.rule_manager import RuleManager, warn_of_refusal
from controllers.metrics import Metrics
from controllers.network.description import Network, Switch
from controllers.network.paths import Topology
from controllers.openflow import steering_rules
from controllers.openflow.cookies import SIBLING_BIT
from controllers.openflow.event_table import Event, EventTable, PacketIn
from controllers.openflow.labels import Labels, interface_numbers
from controllers.openflow.library import spawn
from controllers.openflow.rules import COOKIE_PREFIX, Rule, cookie_of
from controllers.openflow.steering_rules import Table
from controllers.openflow.switches import SwitchConnection, Switches
from controllers.openflow.writes import Writer
from controllers.resilience.flood_guard import FloodGuard
from controllers.resilience.recovery_manager import RecoveryManager
from controllers.resilience.state_recovery import StateRecovery
from controllers.settings import Settings
from controllers.subflows.flows import Flows
from controllers.subflows.groups import Groups
from controllers.subflows.placements import Placements
from controllers.subflows.policies import policy_named
from controllers.subflows.rerouting import Rerouting
from controllers.view.rest import serve_pages, view_pages
from controllers.view.state import ControllerState

_LEASE_PERIOD_S = steering_rules.HOLD_LEASE_S / 3
_HOUSEKEEPING_PERIOD_S = 0.1
_COUNTERS_PERIOD_S = 1.0
_AUDIT_PERIOD_S = 300.0
_ENDS_PER_OPENING = 3
_FLOODS_PER_S, _FLOODS_AT_ONCE = 100.0, 200
_OPENS_TOO_MANY = "opens connections faster than they can be steered"
_ENDS_TOO_MANY = "ends connections faster than they can be noted"
_FLOODS_TOO_MUCH = "sends too many frames to unknown destinations"


def steering_table(settings: Settings, described: Network | None) -> EventTable:
    """Returns the table of a controller that steers; a network without a description is discovered."""
    network, is_learning = described or Network(()), described is None
    switches, topology = Switches(network), Topology.from_network(network)
    table = EventTable(switches)
    labels, interfaces = Labels.for_hosts(it.mac for it in network.interfaces), interface_numbers(network)
    policy, writer, metrics = policy_named(settings.policy), Writer(switches), Metrics()

    def rules_of(switch: Switch) -> tuple[Rule, ...]:
        now = switches.network
        rules = steering_rules.base_rules(now, topology.alive(now), switch, labels, interfaces, learning=is_learning)
        return (*rules, *steering_rules.copy_rules()) if policy.in_switch else rules

    # While a network is being discovered its rules change often, so they all have the same cookie.
    cookie_of_rules = (lambda _rules: COOKIE_PREFIX) if is_learning else cookie_of
    rules = RuleManager(switches, rules_of, table.handle, cookie_of_rules, SIBLING_BIT, Table.BASE)
    discovery, monitor = Discovery(labels), LinkMonitor(settings.probes)
    monitor.watch(topology.links, time.monotonic())
    frames = FrameSender(switches, topology, discovery.access_ports)
    probe_ports = discovery.ports if is_learning else monitor.ends
    links = LinkManager(switches, topology, monitor, metrics, table.handle, probe_ports)
    flows = Flows(topology, policy, Placements(writer, labels, interfaces), knows_hosts=not is_learning)
    flows.hosts.on_network(network)
    rerouting = Rerouting(flows, metrics)
    rate, burst, ends, counters = settings.rate_per_s, settings.burst, _ENDS_PER_OPENING, flows.table.counters
    guards = (
        FloodGuard(rate, burst, counters, steering_rules.mute_openings, _OPENS_TOO_MANY),
        FloodGuard(rate * ends, burst * ends, counters, steering_rules.mute_ends, _ENDS_TOO_MANY),
    )
    segments = FlowManager(flows, frames, switches, metrics, *guards, holds_syns=not policy.in_switch)
    state_recovery = StateRecovery(flows, writer, None if is_learning else [it.name for it in network.switches])
    recovery = RecoveryManager(state_recovery, flows, switches, table.handle, is_learning)
    state = ControllerState(switches, flows, state_recovery, writer, links.prober, guards, rerouting.moves)
    metrics.registry.register(state)

    def load_graph(_connection: SwitchConnection) -> None:
        if all(it.is_ready for it in switches.by_channel.values()):
            spawn(lambda: topology.graph)  # loads networkx, so that the first flow does not wait for it

    def screen(packet: PacketIn) -> bool:
        """Counts frames without a rule; takes those that did not enter at an ordinary port."""
        if packet.has_ingress and packet.table == Table.BASE:
            metrics.packet_ins.labels("miss").inc()
        return not packet.has_ingress

    # The confirmation is requested last: it is also of what the others have sent.
    connected = [rules.on_connect, links.on_connect, segments.on_connect, recovery.on_connect]
    table.rows = {
        Event.STARTED: [partial(serve_pages, view_pages(state, metrics.text), settings.rest)],
        Event.CONNECTED: [*connected, rules.request_confirmation],
        Event.DISCONNECTED: [recovery.on_disconnect, writer.on_disconnect],
        Event.CONFIRMED: [rules.on_confirmed, writer.on_confirmed],
        Event.READY: [load_graph],
        Event.REFUSED: [rules.on_refused, writer.on_refused, warn_of_refusal],
        Event.PACKET_IN: [screen, *(it.on_packet_in for it in (rules, links, recovery, segments))],
        Event.PORT: [links.on_port],
        Event.COUNTERS: [links.on_counters],
        Event.RULES: [recovery.on_rules],
        Event.ALL_RULES: [recovery.on_all_rules],
        Event.RULE_EXPIRED: [segments.on_rule_expired],
        Event.PROBE_CROSSED: [links.on_crossed],
        Event.LINK_CHANGED: [rerouting.on_link_change, frames.forget_ports, rules.rewrite],
        Event.NETWORK_CHANGED: [flows.hosts.on_network, links.on_network, frames.forget_ports, rules.rewrite],
    }
    housekeeping: list[Callable[[float], None]] = [flows.tick, recovery.tick]
    table.tasks = [
        (lambda: max(_COUNTERS_PERIOD_S, monitor.period_s), [links.request_counters]),
        (lambda: _LEASE_PERIOD_S, [segments.renew_leases]),
        (lambda: _HOUSEKEEPING_PERIOD_S, housekeeping),
        (lambda: _AUDIT_PERIOD_S, [recovery.audit]),
    ]
    if settings.probes.period_s:
        table.tasks.append((lambda: monitor.tick_s, [links.send_probes]))
    if policy.in_switch:
        groups = Groups(flows.placements, topology, writer, switches)
        for event in (Event.READY, Event.LINK_CHANGED, Event.NETWORK_CHANGED):
            table.rows[event].append(groups.write)
    if is_learning:
        mute = steering_rules.mute_unknown_destinations
        flood_guard = FloodGuard(_FLOODS_PER_S, _FLOODS_AT_ONCE, counters, mute, _FLOODS_TOO_MUCH)
        manager = DiscoveryManager(discovery, frames, flood_guard, labels, interfaces, table.handle)
        housekeeping.insert(0, manager.sync)
        _discover(table, manager)
    return table


def _discover(table: EventTable, discovery: DiscoveryManager) -> None:
    """Lets discovery know of events before the managers that need the network, and have the frames that these leave."""
    table.rows[Event.NEW_SWITCH] = [discovery.on_new_switch]
    table.rows[Event.PORT].insert(0, discovery.on_port)
    table.rows[Event.PROBE_CROSSED].insert(0, discovery.on_crossed)
    table.rows[Event.ALL_RULES].insert(0, discovery.on_all_rules)
    table.rows[Event.PACKET_IN].insert(1, discovery.on_unknown_destination)
    table.rows[Event.PACKET_IN].append(discovery.on_neighbour)
