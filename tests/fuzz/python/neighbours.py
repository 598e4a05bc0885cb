"""Frames of hosts from which the controller learns who is where: ARP, neighbour discovery, and forged probes."""

import random
from collections import Counter
from functools import cache
from ipaddress import ip_address

from controllers.discovery.discovery import ADDRESSES_PER_MAC, MACS_PER_PORT, SETTLING_S, Discovery, parse_neighbour
from controllers.forwarding.link_probes import Prober
from controllers.network.description import SwitchPort
from controllers.openflow.labels import Labels
from controllers.packets.checksums import complete_tcp_checksum
from tests.fuzz.mutation import pack, unpack, vary_bytes
from tests.support.tcp_frames import DESTINATION_MAC, SOURCE_MAC, ipv4, ipv6, tcp

_FRAMES, _PORTS, _SWITCHES = 300, 4, 2
_PERIOD_S = 0.01


def made(chance: random.Random) -> bytes:
    """Some frames, each with its switch and port."""
    count = chance.randint(1, _FRAMES)
    return pack((chance.randrange(_SWITCHES * _PORTS), _frame(chance)) for _ in range(count))


def read(data: bytes) -> None:
    """Takes each frame as the controller does; no host can fill a table, or pass for a switch."""
    discovery, prober, now_s = Discovery(Labels()), Prober(), 0.0
    for dpid in range(1, _SWITCHES + 1):
        discovery.add_switch(dpid)
    for number in range(_SWITCHES * _PORTS):
        discovery.set_port(_at(number), True, now_s)
    now_s += 2 * SETTLING_S
    for number, frame in unpack(data):
        now_s += _PERIOD_S
        complete_tcp_checksum(frame)
        assert prober.decode(frame, now_s) is None, "a forged probe"
        neighbour = parse_neighbour(frame)
        if neighbour is None:
            continue
        for address in filter(None, (neighbour.address, neighbour.wanted)):
            ip_address(address)
        discovery.add_host(neighbour.mac, neighbour.address, _at(number), now_s)
        if neighbour.wanted is not None:
            discovery.owner(neighbour.wanted)
    interfaces = discovery.network.interfaces  # no impossible network can be built
    assert all(len(it.addresses) <= ADDRESSES_PER_MAC + 1 for it in interfaces)
    assert all(macs <= MACS_PER_PORT for macs in Counter(it.plugged_into for it in interfaces).values())


def _at(number: int) -> SwitchPort:
    return SwitchPort(f"s{number // _PORTS % _SWITCHES + 1}", number % _PORTS + 1)


def _frame(chance: random.Random) -> bytes:
    """A real frame with a made-up host in it, or damaged."""
    frame = bytearray(chance.choice(_originals()))
    mac = bytes([2, 0, 0, 0, chance.randrange(2), chance.randrange(256)])
    frame[6:12] = mac
    if frame[12:14] == b"\x08\x06":
        frame[22:28] = mac
        frame[28:32] = bytes([10, 0, 0, chance.randrange(256)])
    else:
        frame[37:38] = chance.randbytes(1)
    return vary_bytes(chance, [bytes(frame)]) if chance.random() < 0.3 else bytes(frame)


@cache
def _originals() -> list[bytes]:
    arp = b"\xff" * 6 + SOURCE_MAC + bytes.fromhex("0806000108000604")
    hosts = SOURCE_MAC + bytes([10, 0, 0, 1]) + DESTINATION_MAC + bytes([10, 0, 0, 2])
    discovery = [ipv6(bytes([kind]) + bytes(7) + ip_address("fd00::2").packed, following=58) for kind in (135, 136)]
    probe = Prober().encode(1, 1, 1.0)
    return [arp + b"\0\1" + hosts, arp + b"\0\2" + hosts, *discovery, probe, ipv4(tcp()), ipv6(tcp())]
