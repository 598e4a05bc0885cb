"""The rules as data: followed through random networks, every host reaches every host it can, and nobody else."""

from itertools import permutations

import networkx
from hypothesis import given
from hypothesis import strategies as st

from controllers.forwarding.rule_manager import forwarding_table
from controllers.network.description import Host, Interface, Network, Switch
from controllers.openflow.rules import MISS_PRIORITY, ToController, forwarding_rules, output_ports
from controllers.openflow.switches import DROP_S, MAX_DROP_RULES, TableMissLimiter
from tests.support.memory_channel import MemoryChannel
from tests.support.random_networks import networks
from tests.support.steering_model import follow

BROADCAST = "ff:ff:ff:ff:ff:ff"


def graph_of(network):
    graph = networkx.Graph()
    graph.add_nodes_from(switch.name for switch in network.switches)
    graph.add_edges_from((link.a.switch, link.b.switch) for link in network.links)
    return graph


def frames_to(target):
    """One by its MAC address, and a request for the owner of each address: ARP, and if it has two, a solicitation."""
    yield {"eth_dst": target.mac, "eth_type": 0x0800}
    yield {"eth_dst": BROADCAST, "eth_type": 0x0806, "arp_op": 1, "arp_tpa": target.addresses[0]}
    solicitation = {"eth_dst": "33:33:ff:00:00:01", "eth_type": 0x86DD, "ip_proto": 58, "icmpv6_type": 135}
    yield from (solicitation | {"ipv6_nd_target": address} for address in target.addresses[1:])


def forwarding(network):
    """The network's switches, each with the rules that it gets when it connects."""
    channels = {switch.name: MemoryChannel(switch.dpid) for switch in network.switches}
    for channel in channels.values():
        forwarding_table(network).connect(channel, 0.0)
    return channels


@given(networks())
def test_frames_arrive_over_a_shortest_path_wherever_there_is_one(network):
    graph, channels = graph_of(network), forwarding(network)
    for source, target in permutations(network.interfaces, 2):
        for frame in frames_to(target):
            path, _ = follow(network, channels, source, frame)
            if networkx.has_path(graph, source.switch, target.switch):
                assert path[-1] == target.plugged_into
                assert len(path) == networkx.shortest_path_length(graph, source.switch, target.switch) + 1
            else:
                assert not path


@given(networks(), st.randoms())
def test_rules_overwrite_none_of_each_other_last_and_do_not_depend_on_the_order_of_links(network, random):
    shuffled = Network(network.switches, network.hosts, tuple(random.sample(network.links, len(network.links))))
    for switch in network.switches:
        rules = forwarding_rules(network, switch)
        assert rules == forwarding_rules(shuffled, switch)
        assert len({(rule.priority, rule.match) for rule in rules}) == len(rules)
        assert not any(rule.hard_timeout_s for rule in rules)
        (miss,) = (rule for rule in rules if isinstance(rule.action, ToController))
        assert (miss.priority, miss.match) == (MISS_PRIORITY, ())


@given(networks())
def test_equal_paths_are_taken_in_turn_by_the_interfaces_of_a_host(network):
    graph = graph_of(network)
    turns = {it: turn for host in network.hosts for turn, it in enumerate(host.interfaces)}
    for switch in network.switches:
        for interface, port in output_ports(network, switch).items():
            distance = networkx.shortest_path_length(graph, switch.name, interface.switch)
            nearer = [
                here.port
                for link in network.links
                for here, there in ((link.a, link.b), (link.b, link.a))
                if here.switch == switch.name
                and networkx.shortest_path_length(graph, there.switch, interface.switch) == distance - 1
            ]
            assert port == (sorted(nearer)[turns[interface] % len(nearer)] if distance else interface.port)


ONE = Network((Switch("s1", 1),), (Host("h1", (Interface("e", "02:00:00:00:00:01", ("10.0.0.1",), "s1", 1),)),))


def test_multicast_noise_is_dropped_and_does_not_reach_the_controller():
    switch = forwarding(ONE)["s1"]
    for group in ("33:33:00:00:00:16", "33:33:00:00:00:02", "01:00:5e:00:00:fb"):
        assert switch.handle(2, {"eth_dst": group, "eth_type": 0x86DD})[:2] == ([], False)
    for unknown in (BROADCAST, "02:00:00:00:00:99", "01:00:5e:80:00:00"):
        assert switch.handle(2, {"eth_dst": unknown, "eth_type": 0x0800})[:2] == ([], True)


def test_an_unknown_destination_is_reported_again_when_its_rule_ends():
    limiter = TableMissLimiter()
    rule = limiter.report("02:00:00:00:00:99", now_s=100.0)
    assert (rule.match, rule.action, rule.hard_timeout_s) == ((("eth_dst", "02:00:00:00:00:99"),), None, DROP_S)
    assert limiter.report("02:00:00:00:00:99", now_s=100.0 + DROP_S - 0.1) is None
    assert limiter.report("02:00:00:00:00:99", now_s=100.0 + DROP_S) == rule
    assert limiter.count == 2


def test_many_unknown_destinations_are_dropped_by_one_rule():
    limiter = TableMissLimiter()
    rules = [limiter.report(f"02:00:00:00:{i >> 8:02x}:{i & 255:02x}", now_s=0.0) for i in range(1000)]
    installed = [rule for rule in rules if rule is not None]
    assert len(installed) == MAX_DROP_RULES + 1
    assert installed[-1].match == ()
    assert limiter.report("02:00:00:00:00:00", now_s=float(DROP_S)) is not None


def test_dropping_rules_never_cover_one_that_forwards():
    limiter = TableMissLimiter()
    switch = forwarding(ONE)["s1"]
    for i in range(MAX_DROP_RULES + 1):
        switch.add_rules([limiter.report(f"02:00:00:00:ff:{i:02x}", now_s=0.0)], 0)
    for frame in frames_to(ONE.interfaces[0]):
        assert switch.handle(2, frame)[:2] == ([1], False)
    assert switch.handle(2, {"eth_dst": BROADCAST, "eth_type": 0x0806})[:2] == ([], False)
