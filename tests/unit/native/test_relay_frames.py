"""GSO packets: their segments on the wire, and their pieces, which must be what the kernel would make of them."""

import pytest

from tests.support.relay_line import UDP4, VARIANTS, VNET, WITH_FLAGS, Line, content, driver, gso_packet, segmented


@pytest.mark.parametrize("variant", [*VARIANTS, {"vlan": True}, WITH_FLAGS], ids=str)
@pytest.mark.parametrize("text", ["loss=0.2", "burst_enter=0.1,burst_leave=0.3", "loss=0.9"])
def test_what_survives_of_a_gso_packet_is_byte_for_byte_what_was_sent(variant, text):
    line, sent = Line(text), []
    for size in (60_000, 2_897, 1_449, 30_001) * 5:
        frame = gso_packet(content(size), **variant)
        assert len(frame) < 65_600
        line.send(frame, now=0)
        sent += segmented(frame)
    arrived = [segment for departure in line.departures(1) for segment in segmented(departure.data)]
    lost = line.stats()["drops"]["loss"]
    assert lost > 0 and len(arrived) == len(sent) - lost
    remaining = iter(sent)
    assert all(segment in remaining for segment in arrived), "something else than a part of what was sent, in order"
    line.assert_all_accounted_for()


@pytest.mark.parametrize("rate", ["rate_bps=12112000", "rate_bps=12304000,overhead_bytes=24"])
def test_each_piece_is_due_when_its_last_segment_has_left(rate):
    frame = gso_packet(content(20 * 1448))
    line = Line(f"{rate},queue_bytes=0,loss=0.3", frame)
    sequence = 10 + 34 + 4
    departures = line.departures(10**9)
    assert len(departures) > 1
    for departure in departures:
        first = (int.from_bytes(departure.data[sequence : sequence + 4], "big") - 0xFFFFFF00) % 2**32 // 1448
        end = first + len(segmented(departure.data))
        assert departure.due == pytest.approx(end * 1_000_000, abs=2)


def test_losses_do_not_depend_on_how_segments_are_bundled():
    """A seed loses the same segments of a stream, in GSO packets or one by one."""
    frame = gso_packet(content(40 * 1448))
    whole, single = Line("loss=0.1", frame), Line("loss=0.1", *(bytes(VNET.size) + it for it in segmented(frame)))
    together = [segment for departure in whole.departures(1) for segment in segmented(departure.data)]
    assert together == [departure.data[VNET.size :] for departure in single.departures(1)]


@pytest.mark.parametrize(
    ("text", "admitted"),
    [("queue_bytes=15140", 10), ("queue_bytes=15139", 9), ("queue_packets=3", 3), ("queue_packets=40", 40)],
)
def test_a_gso_packet_is_let_in_as_far_as_there_is_room(text, admitted):
    first, second = gso_packet(content(1448)), gso_packet(content(40 * 1448))
    line = Line(f"rate_bps=12112000,{text}", first, second)  # the first is being sent
    stats = line.stats()
    assert stats["queued_packets"] == 1 + admitted and stats["drops"]["queue"] == 40 - admitted
    _, departure = line.departures(10**9)
    # The last one that fits is no longer the end of anything: it is sent as it would have been.
    assert segmented(departure.data)[:-1] == segmented(second)[: admitted - 1]
    assert len(segmented(departure.data)) == admitted
    line.assert_all_accounted_for()


@pytest.mark.parametrize("text", ["rate_bps=12112000,queue_packets=2", "loss=0.4"])
def test_no_piece_says_that_its_headers_are_longer_than_itself(text):
    """The kernel's linear length is that of the whole frame, if it is short; a device refuses such a piece (EINVAL)."""
    frame = gso_packet(content(4 * 1448), hdr_len=66 + 4 * 1448)
    departures = Line(text, *[frame] * 20).departures(10**9)
    pieces = [departure for departure in departures if departure.wire_bytes < 66 + 4 * 1448]
    assert pieces
    assert {VNET.unpack(piece.data[: VNET.size])[2] for piece in pieces} == {66}


@pytest.mark.parametrize("variant", [*VARIANTS, {"vlan": True}], ids=str)
@pytest.mark.parametrize("size", [1, 2, 1200, 1997, 5000, 5001])
def test_corruption_completes_the_checksum_that_was_left_to_the_card(variant, size):
    """Else the receiver could not notice: with the bit flipped back the packet is as the card would have sent it."""
    frame = gso_packet(content(size), **{**variant, "gso_type": 0, "gso_size": 0})
    (sent,) = segmented(frame)
    line = Line("corrupt=1", *[frame] * 20, seed=size)
    for departure in line.departures(0):
        assert departure.data[: VNET.size] == bytes(VNET.size)
        arrived = departure.data[VNET.size :]
        difference = int.from_bytes(sent, "big") ^ int.from_bytes(arrived, "big")
        assert difference.bit_count() == 1 and difference.bit_length() <= (len(sent) - 14) * 8
    assert line.stats()["corrupted"] == 20


def test_gso_packets_that_are_inside_when_corruption_begins_are_not_damaged():
    frame = gso_packet(content(20 * 1448))
    line = Line("rate_bps=12112000,queue_bytes=1000000", *[frame] * 3)
    line.change("corrupt=1", now=1)
    assert [departure.data for departure in line.departures(10**9)] == [frame] * 3
    assert line.stats()["corrupted"] == 0


def test_a_checksum_that_lies_outside_the_packet_is_left_alone():
    frame = gso_packet(content(100), gso_type=0, gso_size=0, csum_start=60_000)
    line = Line("corrupt=1", frame)
    assert [departure.data for departure in line.departures(0)] == [frame]


@pytest.mark.parametrize(
    ("payload", "variant", "segments", "headers"),
    [
        (1448, {"gso_type": 0, "gso_size": 0}, 1, 66),
        (1448, {}, 1, 66),
        (44 * 1448 + 1, {}, 45, 66),
        (2896, {"version": 6}, 2, 86),
        (2896, {"vlan": True}, 2, 70),
        (2500, {"udp": True, "gso_size": 1000}, 3, 42),
        (2896, {"hdr_len": 9999}, 2, 66),  # which is not believed
    ],
)
def test_each_segment_is_charged_its_headers(payload, variant, segments, headers):
    stats = Line("", gso_packet(bytes(payload), **variant)).stats()
    assert (stats["in_packets"], stats["in_bytes"]) == (segments, payload + segments * headers)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        bytes(23),
        gso_packet(bytes(2896), gso_size=0),
        gso_packet(bytes(2896), flags=0),
        gso_packet(bytes(2896), gso_type=UDP4),
        gso_packet(bytes(2896), csum_start=0),
        gso_packet(bytes(2896), csum_start=30),
        gso_packet(bytes(2896), csum_start=65535),
        gso_packet(bytes(2896), csum_offset=6),
        gso_packet(b""),
        gso_packet(bytes(2896), options=-4),
        gso_packet(bytes(2896))[:24] + bytes(3000),
    ],
)
def test_nonsense_is_malformed(frame):
    assert not driver().driver_arrive(Line("").driver, frame, len(frame), 0)
