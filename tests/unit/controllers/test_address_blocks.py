"""Blocks of addresses: they hold exactly the addresses that they are made of, and few of them hold many."""

from hypothesis import given
from hypothesis import strategies as st

from controllers.network.address_blocks import AddressBlocks
from controllers.network.description import Interface
from controllers.openflow.rules import forwarding_rules
from tests.support.fat_trees import fat_tree
from tests.support.memory_channel import equal

NEAR = st.sets(st.integers(1, 70), min_size=1, max_size=40)


def interfaces(numbers):
    """Behind one port, as guests of a virtual machine's host."""
    return [
        Interface(f"e{n}", f"02:00:00:00:00:{n:02x}", (f"10.0.0.{n}", f"fd00::{n:x}"), "s1", 1) for n in sorted(numbers)
    ]


@given(NEAR)
def test_an_address_is_in_one_block_if_it_was_given_and_otherwise_in_none(numbers):
    blocks = AddressBlocks.of(interfaces(numbers))
    for n in range(80):
        [it] = interfaces([n])
        for of_kind, text in zip((blocks.macs, blocks.ipv4, blocks.ipv6), (it.mac, *it.addresses), strict=True):
            field = "eth_dst" if text == it.mac else "address"
            assert sum(equal(field, text, block) for block in of_kind) == (n in numbers)


def test_rules_grow_much_slower_than_hosts():
    small, large = fat_tree(4), fat_tree(16)
    mean = [
        sum(len(forwarding_rules(network, switch)) for switch in network.switches) / len(network.switches)
        for network in (small, large)
    ]
    assert (len(small.interfaces), len(large.interfaces)) == (16, 1024)
    assert mean[1] < 8 * mean[0]
