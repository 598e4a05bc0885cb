"""Blocks of addresses: they hold exactly the addresses that they are made of, and few of them hold many."""

from hypothesis import given
from hypothesis import strategies as st

from controllers.network.address_blocks import AddressBlocks
from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from controllers.openflow.rules import forwarding_rules
from tests.support.memory_channel import equal
from topologies.fat_tree import FatTree


def interfaces(numbers):
    """Behind one port, as guests of a virtual machine's host."""
    return [
        Interface(f"e{n}", f"02:00:00:00:00:{n:02x}", (f"10.0.0.{n}", f"fd00::{n:x}"), "s1", 1) for n in sorted(numbers)
    ]


@given(st.sets(st.integers(1, 70), min_size=1, max_size=40))
def test_an_address_is_in_one_block_if_it_was_given_and_otherwise_in_none(numbers):
    blocks = AddressBlocks.of(interfaces(numbers))
    for n in range(80):
        [it] = interfaces([n])
        for of_kind, text in zip((blocks.macs, blocks.ipv4, blocks.ipv6), (it.mac, *it.addresses), strict=True):
            field = "eth_dst" if text == it.mac else "address"
            assert sum(equal(field, text, block) for block in of_kind) == (n in numbers)


def fat_tree(pods):
    """The description that the testbed makes of this network."""
    topology = FatTree(pods=pods)
    hosts, links = [], []
    for a, b, info in topology.links(withInfo=True):
        if topology.isSwitch(a) and topology.isSwitch(b):
            links.append(Link(*(SwitchPort(info[f"node{end}"], info[f"port{end}"]) for end in (1, 2))))
        else:
            host, switch = info["node1"], info["node2"]
            addresses = tuple(text.partition("/")[0] for text in topology.nodeInfo(host)["addresses"][0])
            hosts.append(Host(host, (Interface(f"{host}-eth0", info["addr1"], addresses, switch, info["port2"]),)))
    switches = tuple(Switch(name, int(topology.nodeInfo(name)["dpid"], 16)) for name in topology.switches())
    return Network(switches, tuple(hosts), tuple(links))


def test_rules_grow_much_slower_than_hosts():
    small, large = fat_tree(4), fat_tree(16)
    mean = [
        sum(len(forwarding_rules(network, switch)) for switch in network.switches) / len(network.switches)
        for network in (small, large)
    ]
    assert (len(small.interfaces), len(large.interfaces)) == (16, 1024)
    assert mean[1] < 8 * mean[0]
