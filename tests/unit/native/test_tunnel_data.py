"""The tunnel's data path: it sends what the kernel would send, on paths as scheduled, and delivers what was sent."""

import random
import struct
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.relay_line import MS, TCP4, VARIANTS, VNET, WITH_FLAGS, checksum, content
from tests.support.tcp_frames import ipv4, tcp
from tests.support.tunnel_ends import (
    FLOWHASH,
    REDUNDANT,
    RTT,
    WRR,
    End,
    number_of,
    numbered,
    packets_of,
    read_from_device,
    single,
    udp_packet,
)


@pytest.mark.parametrize("variant", [*VARIANTS, WITH_FLAGS], ids=str)
@pytest.mark.parametrize("size", [1, 1448, 1449, 20_001])
def test_a_super_packet_is_cut_as_the_kernel_would(variant, size):
    data, expected = read_from_device(payload=content(size), **variant)
    sent = End(mtu=1600).send(data)
    by_number = sorted(sent, key=lambda datagram: datagram.sequence)
    assert [datagram.packet for datagram in by_number] == expected
    assert [datagram.sequence for datagram in by_number] == list(range(len(expected)))


@pytest.mark.parametrize("sequenced", [True, False])
@pytest.mark.parametrize("version", [4, 6])
def test_the_wire_is_gre_in_udp_as_the_reference_has_it(sequenced, version):
    end = End(1, sequenced=sequenced)
    data, packets = read_from_device(payload=content(100), version=version)
    protocol = b"\x08\x00" if version == 4 else b"\x86\xdd"
    for sequence in range(3):
        (datagram,) = end.send(data)
        header = b"\x10\x00" + protocol + sequence.to_bytes(4, "big") if sequenced else b"\0\0" + protocol
        assert datagram.data == header + packets[0]


def test_messages_hold_datagrams_of_one_size_and_at_most_what_the_kernel_cuts():
    end = End(1)
    data, packets = read_from_device(payload=content(60_000), gso_size=500)
    assert len(end.send(data)) == len(packets) == 120
    assert end.counter("messages") == 2 and end.counter("longest") == 64
    end = End(1)
    end.send(*[single(udp_packet(number, size)) for number, size in enumerate([200, 200, 100, 200, 300])])
    assert end.counter("messages") == 3, "200 200 100 | 200 | 300"


def delivered(end, packets):
    """Packets that the device gets if they arrive in order."""
    for number, packet in enumerate(packets):
        end.receive(0, numbered(number, packet))
    return end.written()


def test_without_offloads_each_datagram_is_a_message_and_each_packet_is_written_by_itself():
    plain, fast = End(1, offloads=False), End(1)
    data, packets = read_from_device(payload=content(20_000))
    assert plain.send(data) == fast.send(data), "the same on the wire"
    assert plain.counter("longest") == 1 and plain.counter("messages") == len(packets)
    assert [data[VNET.size :] for data in delivered(plain, packets)] == packets
    assert packets_of(delivered(fast, packets)) == packets


def without_identification(packets):
    """Bytes that must come: all but the identification of IPv4 packets that may not be fragmented (RFC 6864, 4.1)."""
    return [each[:4] + each[6:10] + each[12:] if each[0] >> 4 == 4 else each for each in packets]


@settings(max_examples=40)
@given(
    variants=st.lists(st.sampled_from(VARIANTS), min_size=1, max_size=4),
    sizes=st.lists(st.integers(1, 20_000), min_size=4, max_size=4),
    run=st.integers(1, 70),
    paths=st.integers(1, 4),
    sequenced=st.booleans(),
    start=st.sampled_from([0, 2**32 - 3]),
    data=st.data(),
)
def test_what_goes_in_comes_out_whatever_the_paths_order(variants, sizes, run, paths, sequenced, start, data):
    a = End(paths, run=run, sequenced=sequenced, mtu=1600)
    b = End(paths, sequenced=sequenced, window=4096)
    a.next(start)
    (first,) = a.send(single(udp_packet(0)))
    b.receive(first.path, first.data)  # tells where numbers start: what came before it would be late
    assert len(b.written()) == 1
    expected, sent = [], []
    for variant, size in zip(variants, sizes, strict=False):
        super_packet, packets = read_from_device(payload=content(size), **variant)
        expected += packets
        sent += a.send(super_packet)
    queues = [[datagram for datagram in sent if datagram.path == path] for path in range(paths)]
    written = []
    # Each path keeps its order; between them any is possible. Without numbers only what was sent in order comes so.
    while any(queues):
        ready = [path for path, queue in enumerate(queues) if queue]
        path = data.draw(st.sampled_from(ready))
        count = data.draw(st.integers(1, len(queues[path])))
        for datagram in queues[path][:count]:
            b.receive(path, datagram.data)
        del queues[path][:count]
        written += b.written()
    got, expected = without_identification(packets_of(written)), without_identification(expected)
    assert got == expected if sequenced else sorted(got) == sorted(expected)


def test_merged_packets_are_one_super_packet_for_the_kernel():
    end = End(1)
    data, packets = read_from_device(payload=content(40 * 1448 + 7))
    (written,) = delivered(end, packets)
    assert written[VNET.size + 20 :] == data[VNET.size + 20 :], "all behind IP, the unfinished checksum included"
    assert VNET.unpack(written[: VNET.size])[1:2] == (TCP4,)


def test_datagrams_that_the_kernel_merged_are_taken_apart():
    end = End(1)
    _, packets = read_from_device(payload=content(10 * 1448 + 7))
    datagrams = [numbered(number, packet) for number, packet in enumerate(packets)]
    end.receive(0, b"".join(datagrams), segment=len(datagrams[0]))
    assert packets_of(end.written()) == packets


@pytest.mark.parametrize("which", range(4))
def test_a_wrong_checksum_is_not_covered_up(which):
    """The kernel must get such a packet unchanged, or it would pass corrupted data to an application."""
    end = End(1)
    _, packets = read_from_device(payload=content(4 * 1448))
    packets[which] = packets[which][:60] + bytes([packets[which][60] ^ 0xFF]) + packets[which][61:]
    written = delivered(end, packets)
    assert single(packets[which]) in written and packets_of(written) == packets


def with_tcp_checksum(packet: bytes) -> bytes:
    pseudo = packet[12:20] + struct.pack("!BBH", 0, 6, len(packet) - 20)
    done = checksum(pseudo + packet[20:36] + b"\0\0" + packet[38:])
    return packet[:36] + done.to_bytes(2, "big") + packet[38:]


FIELDS = {"traffic class": 1, "TTL": 8, "source": 15, "port": 21, "acknowledgement": 31, "window": 35, "option": 45}


@pytest.mark.parametrize("at", FIELDS.values(), ids=FIELDS)
def test_packets_that_differ_in_more_than_order_are_not_merged(at):
    end = End(1)
    _, (first, second) = read_from_device(payload=content(2 * 1448))
    changed = bytearray(second)
    changed[at] ^= 1
    changed[10:12] = b"\0\0"
    changed[10:12] = checksum(bytes(changed[:20])).to_bytes(2, "big")
    other = with_tcp_checksum(bytes(changed))
    assert delivered(end, [first, other]) == [single(first), single(other)]


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\x08\0",
        b"\x20\0\x08\0" + udp_packet(1),  # a key
        b"\x10\0\x08\0\0\0\0",  # cut short
        b"\0\0\x08\0" + udp_packet(1)[:-1],
        b"\0\0\x08\0" + b"\x35" + udp_packet(1)[1:],
        b"\0\0\x08\0" + b"\x44" + udp_packet(1)[1:],  # a header of 16 bytes
        b"\0\0\x86\xdd" + b"\x60" + bytes(38),
    ],
)
def test_a_malformed_datagram_changes_nothing_but_a_counter(data):
    end = End(1)
    end.receive(0, data)
    assert end.written() == [] and end.counter("malformed") == 1 and end.control() == []
    end.receive(0, numbered(7, udp_packet(7)))
    assert [number_of(packet) for packet in packets_of(end.written())] == [7]


def test_a_super_packet_whose_headers_make_no_sense_is_dropped():
    end = End(1)
    good, _ = read_from_device(payload=content(3000))
    assert len(end.send(good)) == 3
    for fields in [(1, 1, 0, 0, 20, 16), (0, 1, 0, 1448, 20, 16), (1, 1, 0, 1448, 21, 16), (1, 5, 0, 1448, 20, 16)]:
        assert end.send(VNET.pack(*fields) + good[VNET.size :]) == []
    assert end.send(VNET.pack(1, 0, 0, 0, 20, 60_000) + good[VNET.size :]) == [], "a checksum outside of the packet"
    assert end.counter("unsound") == 5


def test_a_packet_that_does_not_fit_is_dropped_and_counted():
    end = End(1, mtu=1000)
    assert len(end.send(single(udp_packet(1, 1000)))) == 1
    assert end.send(single(udp_packet(1, 1001))) == []
    assert end.counter("too_large") == 1


def test_without_a_path_packets_are_counted_and_take_no_number():
    end = End(2)
    end.path(0, up=False)
    end.path(1, up=False)
    assert end.send(single(udp_packet(1))) == [] and end.counter("no_path") == 1
    end.path(1)
    (datagram,) = end.send(single(udp_packet(2)))
    assert (datagram.path, datagram.sequence) == (1, 0)


def syn(mss: int, before: bytes = b"") -> bytes:
    options = before + struct.pack("!BBH", 2, 4, mss)
    frame = ipv4(tcp(options + b"\x01" * (-len(options) % 4)))
    return with_tcp_checksum(frame[14:])


@pytest.mark.parametrize("before", [b"", b"\x01", b"\x01\x01\x08\x0a" + bytes(8), b"\x08\x0a" + bytes(8)])
@pytest.mark.parametrize("direction", ["out", "in"])
def test_segments_are_clamped_to_what_fits_and_the_checksum_mended(before, direction):
    def through(packet: bytes) -> bytes:
        end = End(1, mtu=1400)
        if direction == "out":
            return end.send(single(packet))[0].packet
        end.receive(0, numbered(0, packet))
        return packets_of(end.written())[0]

    assert through(syn(1460, before)) == syn(1360, before)
    assert through(syn(1300, before)) == syn(1300, before)
    acknowledgement = syn(1460, before)[:33] + b"\x10" + syn(1460, before)[34:]
    assert through(acknowledgement) == acknowledgement


def paths_of(end, count):
    """Order of decisions on packets that are sent each by itself."""
    return [end.send(single(udp_packet(number, 1000)))[0].path for number in range(count)]


def test_weights_share_bytes_exactly():
    end = End(3, run=1)
    for path, weight in enumerate([5, 2.5, 1]):
        end.path(path, weight=weight)
    chosen = random.Random(1)
    sizes, carried = [chosen.randint(40, 1500) for _ in range(4000)], Counter()
    for number, size in enumerate(sizes):
        (datagram,) = end.send(single(udp_packet(number, size)))
        carried[datagram.path] += size
    total = sum(sizes)
    assert [carried[path] / total for path in range(3)] == pytest.approx([5 / 8.5, 2.5 / 8.5, 1 / 8.5], abs=0.002)


def test_a_run_stays_on_its_path_until_that_goes_down_which_then_has_no_claim_when_it_returns():
    end = End(2, run=4)
    assert paths_of(end, 18) == [0] * 4 + [1] * 4 + [0] * 4 + [1] * 4 + [0] * 2
    end.path(0, up=False)
    assert paths_of(end, 20) == [1] * 20
    end.path(0)
    assert Counter(paths_of(end, 16)) == {0: 8, 1: 8}


@pytest.mark.parametrize("scheduler", [WRR, RTT, FLOWHASH, REDUNDANT])
def test_a_backup_path_is_used_only_while_no_other_is_up(scheduler):
    end = End(2, scheduler=scheduler)
    end.path(1, backup=True)
    assert set(paths_of(end, 8)) == {0}
    end.path(0, up=False)
    assert set(paths_of(end, 8)) == {1}
    end.path(0)
    assert set(paths_of(end, 8)) == {0}


def test_the_shortest_path_is_filled_first():
    end = End(2, scheduler=RTT)
    end.path(0, rtt_ms=50)
    end.path(1, rtt_ms=10, bps=8_000_000)  # 1000 bytes take 1 ms; the other is 20 ms longer
    end.time(0)
    assert paths_of(end, 40) == [1] * 19 + [0] * 21
    end.time(5 * MS)
    assert Counter(paths_of(end, 40)) == {1: 5, 0: 35}, "5 ms have made room for 5 packets"


def test_all_segments_of_a_flow_keep_its_path_and_when_a_path_goes_only_its_own_flows_move():
    end = End(3, scheduler=FLOWHASH)
    data, _ = read_from_device(payload=content(20_000))

    def home(port: int) -> int:
        flow = data[: VNET.size + 20] + port.to_bytes(2, "big") + data[VNET.size + 22 :]
        (path,) = {datagram.path for datagram in end.send(flow, flow)}
        return path

    def homes() -> list[int]:
        return list(map(home, range(90)))

    before = homes()
    assert min(Counter(before).values()) > 15
    end.path(1, up=False)
    after = homes()
    assert all(new == old for new, old in zip(after, before, strict=True) if old != 1) and 1 not in after
    end.path(1, weight=10)
    assert Counter(homes())[1] > 60
