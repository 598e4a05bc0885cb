"""Blocks of addresses: they hold exactly the addresses that they are made of, and few of them hold many."""

from ipaddress import ip_address

from hypothesis import given
from hypothesis import strategies as st

from controllers.network.address_blocks import AddressBlocks
from controllers.network.description import Interface
from controllers.openflow.rules import forwarding_rules
from tests.support.fat_trees import fat_tree
from tests.support.memory_channel import equal

NEAR = st.sets(st.integers(1, 70), min_size=1, max_size=40)


def interfaces(numbers):
    return [
        Interface(f"e{n}", f"02:00:00:00:00:{n:02x}", (f"10.0.0.{n}", f"fd00::{n:x}"), "s1", n) for n in sorted(numbers)
    ]


@given(NEAR)
def test_an_address_is_in_one_block_if_it_was_given_and_otherwise_in_none(numbers):
    blocks = AddressBlocks.of(interfaces(numbers))
    for n in range(80):
        [of_n] = interfaces([n]) if n else [Interface("e0", "02:00:00:00:00:00", ("10.0.0.0", "fd00::"), "s1", 1)]
        kinds = (blocks.macs, of_n.mac), (blocks.ipv4, of_n.addresses[0]), (blocks.ipv6, of_n.addresses[1])
        for of_kind, text in kinds:
            field = "eth_dst" if ":" in text and len(text) == 17 else "address"
            assert sum(equal(field, text, block) for block in of_kind) == (n in numbers)


def test_hosts_with_consecutive_addresses_need_few_blocks():
    blocks = AddressBlocks.of(interfaces(range(64, 128)))
    assert blocks == AddressBlocks(
        (("02:00:00:00:00:40", "ff:ff:ff:ff:ff:c0"),),
        (("10.0.0.64", "255.255.255.192"),),
        ((str(ip_address("fd00::40")), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffc0"),),
    )


def test_rules_grow_much_slower_than_hosts():
    small, large = fat_tree(4), fat_tree(16)
    mean = [
        sum(len(forwarding_rules(network, switch)) for switch in network.switches) / len(network.switches)
        for network in (small, large)
    ]
    assert (len(small.interfaces), len(large.interfaces)) == (16, 1024)
    assert mean[1] < 8 * mean[0]
