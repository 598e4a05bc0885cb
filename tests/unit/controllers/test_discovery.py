"""Discovery of a network that nobody described, and what a hostile host cannot make of it."""

import pytest

from controllers.discovery.discovery import (
    ADDRESS_HELD_S,
    ADDRESSES_PER_MAC,
    BOTH_WAYS_WITHIN_S,
    LINK_TRAVEL_S,
    MAC_HELD_S,
    MACS_PER_PORT,
    SETTLING_S,
    Discovery,
    Neighbour,
    parse_neighbour,
)
from controllers.network.description import Link, SwitchPort
from controllers.openflow.labels import Labels

A, B, UPLINK, FAR = SwitchPort("s1", 1), SwitchPort("s1", 2), SwitchPort("s1", 3), SwitchPort("s2", 3)
MAC, OTHER = "02:00:00:00:00:01", "02:00:00:00:00:02"
ARP_REQUEST = bytes.fromhex(
    "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002"
)
SOLICITATION = bytes.fromhex(
    "3333ff000002 020000000001 86dd 6000000000203aff fd000000000000000000000000000001 ff0200000000000000000001ff000002"
    "8700000000000000 fd000000000000000000000000000002 0101020000000001"
)


@pytest.fixture
def discovery() -> Discovery:
    """Two switches with a link, and two ports for hosts that have been silent long enough."""
    discovery = Discovery(Labels())
    discovery.add_switch(1)
    discovery.add_switch(2)
    for at in (A, B, UPLINK, FAR):
        discovery.set_port(at, True, 0.0)
    discovery.note_crossing(UPLINK, FAR, 0.0, 0.0)
    discovery.note_crossing(FAR, UPLINK, 0.0, 0.0)
    return discovery


def hosts_of(discovery: Discovery) -> dict[str, tuple[SwitchPort, tuple[str, ...]]]:
    return {it.mac: (it.plugged_into, it.addresses) for it in discovery.network.interfaces}


def test_each_link_that_probes_cross_is_found_once(discovery):
    assert discovery.network.links == (Link(UPLINK, FAR),)
    before = discovery.version
    discovery.add_link(UPLINK, FAR)
    assert discovery.version == before
    discovery.add_link(UPLINK, SwitchPort("s2", 4))  # it has been plugged in elsewhere
    assert discovery.network.links == (Link(UPLINK, SwitchPort("s2", 4)),)


@pytest.mark.parametrize(
    "crossings",
    [
        [(A, FAR, 0.0, 1.0)],
        [(A, FAR, 0.0, 1.0), (FAR, A, LINK_TRAVEL_S + 1, 1.0)],
        [(A, FAR, 0.0, 1.0), (FAR, A, 0.0, 1.0 + 2 * BOTH_WAYS_WITHIN_S)],
        [(A, FAR, 0.0, 1.0), (FAR, B, 0.0, 1.0)],
        [(A, A, 0.0, 1.0), (A, B, 0.0, 1.0), (B, A, 0.0, 1.0)],
    ],
    ids=["one way", "kept for a while", "too late", "comes out elsewhere", "from a switch to itself"],
)
def test_a_link_needs_probes_that_cross_it_both_ways_in_time(discovery, crossings):
    before = discovery.network
    for crossing in crossings:
        discovery.note_crossing(*crossing)
    assert discovery.network == before


def test_hosts_are_found_where_their_frames_enter_and_never_behind_a_link(discovery):
    discovery.add_host(MAC, "10.0.0.1", A, 1.0)
    discovery.add_host(OTHER, "10.0.0.2", FAR, 1.0)
    assert hosts_of(discovery) == {MAC: (A, ("10.0.0.1",))}
    discovery.add_link(A, SwitchPort("s2", 1))
    assert hosts_of(discovery) == {}, "frames there came from another switch"


def test_a_port_that_has_just_come_up_may_still_lead_to_a_switch(discovery):
    discovery.set_port(B, False, 5.0)
    discovery.set_port(B, True, 6.0)
    assert not discovery.is_access(B, 6.0 + SETTLING_S / 2)
    assert discovery.is_access(B, 6.0 + SETTLING_S)


def test_a_host_moves_when_it_has_been_silent_or_its_cable_was_cut(discovery):
    discovery.add_host(MAC, None, A, 1.0)
    discovery.add_host(MAC, None, B, 1.5)
    assert (hosts_of(discovery)[MAC][0], discovery.refused) == (A, 1), "its last frame was a moment ago"
    discovery.add_host(MAC, None, B, 1.0 + MAC_HELD_S)
    assert hosts_of(discovery)[MAC][0] == B
    discovery.set_port(B, False, 1.1 + MAC_HELD_S)
    discovery.add_host(MAC, None, A, 1.2 + MAC_HELD_S)
    assert hosts_of(discovery)[MAC][0] == A


def test_no_host_takes_an_address_that_another_one_uses(discovery):
    discovery.add_host(MAC, "10.0.0.1", A, 1.0)
    discovery.add_host(OTHER, "10.0.0.1", B, 2.0)
    assert (discovery.owner("10.0.0.1"), discovery.refused) == (MAC, 1)
    discovery.add_host(OTHER, "10.0.0.1", B, 1.0 + ADDRESS_HELD_S)
    assert discovery.owner("10.0.0.1") == OTHER


def test_the_addresses_of_a_port_and_of_a_host_are_limited(discovery):
    for number in range(2 * MACS_PER_PORT):
        discovery.add_host(f"02:00:00:00:01:{number:02x}", None, A, 1.0)
    assert len(hosts_of(discovery)) == MACS_PER_PORT
    for number in range(2 * ADDRESSES_PER_MAC):
        discovery.add_host(OTHER, f"10.0.1.{number}", B, 1.0)
    assert len(hosts_of(discovery)[OTHER][1]) == ADDRESSES_PER_MAC
    for nonsense in ("01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", Labels().label(1, 1)):
        discovery.add_host(nonsense, None, B, 1.0)
        assert nonsense not in hosts_of(discovery)


def test_neighbours_are_read_from_arp_and_neighbour_discovery():
    assert parse_neighbour(ARP_REQUEST) == Neighbour(MAC, "10.0.0.1", "10.0.0.2")
    assert parse_neighbour(SOLICITATION) == Neighbour(MAC, "fd00::1", "fd00::2")
    advertisement = bytearray(SOLICITATION)
    advertisement[54] = 136
    assert parse_neighbour(bytes(advertisement)) == Neighbour(MAC, "fd00::2", None)
    forged = bytearray(ARP_REQUEST)
    forged[22] ^= 4  # ARP names another sender than the frame does
    assert parse_neighbour(bytes(forged)) is None
