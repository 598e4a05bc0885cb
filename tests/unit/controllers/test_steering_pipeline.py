"""Steering's rules followed through networks in memory: a flow crosses its path and no other link, both ways."""

import gc
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.forwarding.link_monitor import LinkChange
from controllers.metrics import Metrics
from controllers.network.description import SwitchPort
from controllers.network.paths import LinkState, Path
from controllers.openflow.cookies import RuleKind
from controllers.openflow.labels import Labels
from controllers.openflow.steering_rules import mute_ends, mute_openings
from controllers.packets.segments import ACK, FIN, RST, SYN, FlowKey
from controllers.resilience.state_recovery import StateRecovery
from controllers.subflows import placements
from controllers.subflows.flows import Outcome
from controllers.subflows.rerouting import Rerouting
from tests.support.random_networks import networks
from tests.support.steering_model import FABRIC, FLOW, H1, H2, H3, MP_CAPABLE, begin, follow, frame_of, made, segment_of


@given(networks(), st.data(), st.sampled_from(("disjoint", "shortest", "single")))
def test_a_flow_crosses_its_path_and_arrives_as_it_was_sent_both_ways(network, data, policy):
    placed = [it for it in network.interfaces if it.addresses]
    if len(placed) < 2:
        return
    source, target = data.draw(st.permutations(placed))[:2]
    switches, flows = made(network, policy)
    flow = FlowKey(source.addresses[0], target.addresses[0], 1000, 80)
    released = begin(flows, flow, source, target)
    placement = flows.placements.by_flow.get(flow)
    if placement is None:
        assert released == [None]
        return
    assert released == [placement.forward.actions]
    for way, here, there in ((flow, source, target), (flow.reversed(), target, source)):
        frame = frame_of(way, there)
        crossed, arrived = follow(network, switches.channels, here, frame)
        direction = placement.forward if way == flow else placement.reverse
        assert crossed == [*(SwitchPort(hop.switch, hop.port) for hop in direction.path.hops), there.plugged_into]
        assert arrived == frame
    assert placement.reverse.path == placement.forward.path.reversed()


def test_syns_are_held_and_syn_acks_and_ends_are_copied():
    switches, _ = made(FABRIC)
    for flags in (SYN, SYN | ACK, FIN | ACK, RST, ACK):
        out, is_reported, _ = switches.channels["e1"].handle(H1[0].port, frame_of(FLOW, H2[0], flags))
        assert (bool(out), is_reported) == (flags != SYN, flags != ACK), flags
        # What comes from another switch has been looked at where it entered.
        out, is_reported, _ = switches.channels["c1"].handle(1, frame_of(FLOW, H2[0], flags))
        assert (bool(out), is_reported) == (True, False), flags


def test_frames_of_a_muted_port_are_forwarded_and_not_reported_and_labels_of_hosts_dropped():
    switches, _ = made(FABRIC)
    openings, ends = (SYN, SYN | ACK), (FIN | ACK, RST)
    for port, rules, muted, reported in (
        (H1[0].port, mute_openings, openings, ends),
        (H3[0].port, mute_ends, ends, openings),
    ):
        switches.channels["e1"].add_rules(rules(port, 5), 0)
        for flags in muted:
            out, is_reported, _ = switches.channels["e1"].handle(port, frame_of(FLOW, H2[0], flags))
            assert (bool(out), is_reported) == (True, False)
        for flags in reported:
            assert switches.channels["e1"].handle(port, frame_of(FLOW, H2[0], flags))[1]
    label = frame_of(FLOW, H2[0]) | {"eth_dst": Labels().label(1, 5)}
    assert switches.channels["e1"].handle(H1[0].port, label)[:2] == ([], False)


def test_a_forged_flow_is_not_steered_and_ends_no_genuine_one():
    _, flows = made(FABRIC)
    released = []
    flows.on_syn(segment_of(FLOW, H3[0], H2[0]), H3[0].plugged_into, released.append, 0.0)
    assert released == [None]
    flows.on_syn(segment_of(FLOW, H1[0], H2[0]), H3[0].plugged_into, released.append, 0.0)
    assert flows.outcomes[Outcome.NOT_GENUINE] == 2
    begin(flows)
    flows.on_end(segment_of(FLOW, H1[0], H2[0], RST), H3[0].plugged_into, 0.0)
    assert FLOW in flows.placements.by_flow


def test_a_flow_that_found_no_path_gets_one_with_its_next_syn():
    switches, flows = made(FABRIC)
    down = [LinkState(edge, up=False) for edge in flows.topology.links]
    for state in down:
        flows.topology.update(state)
    begin(flows)
    begin(flows, now_s=1.0)
    assert flows.outcomes == {Outcome.NO_PATH: 2}
    for state in down:
        flows.topology.update(replace(state, up=True))
    begin(flows, now_s=3.0)
    begin(flows, now_s=7.0)
    assert flows.outcomes == {Outcome.NO_PATH: 2, Outcome.STEERED: 1, Outcome.REPEATED: 1}
    assert follow(FABRIC, switches.channels, H1[0], frame_of(FLOW, H2[0]))[1] == frame_of(FLOW, H2[0])


def test_rules_are_deleted_some_time_after_the_flow_has_ended_both_ways():
    switches, flows = made(FABRIC)
    begin(flows)
    flows.on_syn_ack(segment_of(FLOW.reversed(), H2[0], H1[0], SYN | ACK), H2[0].plugged_into, 0.0)
    in_use = sum(len(rules) for rules in switches.stored().values())
    flows.on_end(segment_of(FLOW, H1[0], H2[0], FIN | ACK), H1[0].plugged_into, 1.0)
    flows.on_end(segment_of(FLOW, H1[0], H2[0], FIN | ACK), H1[0].plugged_into, 1.0)  # sent again
    flows.tick(100.0)
    assert FLOW in flows.placements.by_flow, "half closed"
    flows.on_end(segment_of(FLOW.reversed(), H2[0], H1[0], FIN | ACK), H2[0].plugged_into, 101.0)
    assert FLOW not in flows.placements.by_flow
    flows.tick(102.0)
    assert sum(len(rules) for rules in switches.stored().values()) == in_use
    flows.tick(105.0)
    assert sum(len(rules) for rules in switches.stored().values()) == in_use - 2  # its path stays known


def test_rules_of_a_flow_that_began_again_stay():
    switches, flows = made(FABRIC)
    begin(flows)
    flows.on_end(segment_of(FLOW, H1[0], H2[0], RST), H1[0].plugged_into, 1.0)
    begin(flows, now_s=2.0)
    flows.tick(10.0)
    path = [SwitchPort(hop.switch, hop.port) for hop in flows.placements.by_flow[FLOW].forward.path.hops]
    assert follow(FABRIC, switches.channels, H1[0], frame_of(FLOW, H2[0]))[0][:-1] == path
    assert {RuleKind.of(rule.cookie) for rule in switches.stored()["e1"]} >= {RuleKind.FORWARD}


def test_an_idle_connection_is_closed_and_an_active_one_is_not():
    _, flows = made(FABRIC)
    begin(flows, options=MP_CAPABLE)
    other = FlowKey("10.0.0.3", "10.0.0.2", 1000, 80)
    begin(flows, other, H3[0], H2[0])
    assert flows.placements.by_flow.keys() == {FLOW, other}
    flows.note_packets([(FLOW, 1), (other, 1)], 0.0)
    flows.note_packets([(FLOW, 1), (other, 2)], 3000.0)
    flows.note_packets([(FLOW, 1), (other, 2)], 3700.0)
    assert flows.placements.by_flow.keys() == {other}


def test_rules_of_no_flow_are_deleted_when_a_controller_takes_over():
    switches, flows = made(FABRIC)
    begin(flows)
    empty, _ = made(FABRIC)
    switches.channels |= {core: empty.channels[core] for core in ("c1", "c2")}  # they have been replaced
    _, flows = made(FABRIC, switches=switches)
    recovery = StateRecovery(flows, switches, list(switches.channels))
    for switch, rules in switches.stored().items():
        assert not recovery.is_complete
        recovery.on_rules(switch, rules, 0.0)
    assert (recovery.is_complete, recovery.lost) == (True, 1)
    kinds = {RuleKind.of(rule.cookie) for rules in switches.stored().values() for rule in rules}
    assert kinds <= {RuleKind.HOLD, None}


def test_flows_that_begin_together_do_not_all_take_the_idlest_link():
    _, flows = made(FABRIC, "least-loaded")

    def begin_at(now_s: float) -> Path:
        flow = replace(FLOW, source_port=1000 + round(10 * now_s))
        begin(flows, flow, now_s=now_s)
        return flows.placements.by_flow[flow].forward.path

    paths = [begin_at(now_s) for now_s in (0.0, 0.1, 0.2, 0.3)]
    assert [paths.count(path) for path in paths] == [2, 2, 2, 2]
    # Later what the counters say decides, and they say that nothing is carried.
    assert begin_at(10.0) == begin_at(20.0)


def test_ended_connections_at_one_switch_take_no_memory():
    _, flows = made(FABRIC)

    def connect_and_end(first: int, last: int) -> int:
        """Returns the memory in use afterwards."""
        for number in range(first, last):
            flow = FlowKey("10.0.0.1", "10.0.0.3", 1000 + number % 1000, 80)
            begin(flows, flow, target=H3[0], now_s=number)
            flows.on_end(segment_of(flow, H1[0], H3[0], RST), H1[0].plugged_into, number)
            flows.tick(number + 0.5)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        assert connect_and_end(0, 1000) > connect_and_end(1000, 2500) - 1500 * 10
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("flow", "source", "target"), [(FLOW.reversed(), H2[0], H1[0]), (FLOW, H1[0], H2[0])])
def test_a_write_that_fails_late_closes_no_flow_that_has_begun_since(flow, source, target):
    (switches, flows), unconfirmed = made(FABRIC), []
    switches.confirm = unconfirmed.append
    begin(flows)
    flows.on_end(segment_of(FLOW, H1[0], H2[0], RST), H1[0].plugged_into, 0.0)
    begin(flows, flow, source, target)
    unconfirmed[0](False)
    assert flows.table.find(flow).flow == flow
    edge = flows.placements.by_flow[flow].forward.path.edges[0]
    flows.topology.update(LinkState(edge, up=False))
    rerouting = Rerouting(flows, Metrics())
    rerouting.on_link_change(LinkChange(edge, False, "port"))
    unconfirmed[-1](True)
    assert (rerouting.moves[0].moved, rerouting.moves[0].stayed) == (1, 0)
    assert edge not in flows.placements.edges_of(flow)


def test_a_path_forgotten_while_it_is_written_is_not_known_as_written(monkeypatch):
    monkeypatch.setattr(placements, "_MANY_PATHS", 1)
    (switches, flows), unconfirmed = made(FABRIC), []
    switches.confirm = unconfirmed.append
    begin(flows)
    flows.placements.remove(FLOW)
    begin(flows, FlowKey("10.0.0.3", "10.0.0.1", 1000, 80), H3[0], H1[0])
    unconfirmed[0](True)
    flows.placements.forget_written("e1")
    begin(flows)
    assert follow(FABRIC, switches.channels, H1[0], frame_of(FLOW, H2[0]))[1] == frame_of(FLOW, H2[0])
