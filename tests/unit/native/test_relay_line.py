"""The line of a relay: its C modules, at times that the tests choose."""

import itertools
import random
import statistics

import pytest

from tests.support.relay_line import MS, NEVER, SECOND, Line, driver, ip_packet, mark_of, plain_frame, plain_frames

FULL = 1514


def bounds(text):
    """The size of the largest GSO packet, and the bytes that may wait."""
    line = Line(text)
    return driver().driver_frame_bound(line.driver), driver().driver_queue_bytes(line.driver)


def due(line, now):
    return [departure.due for departure in line.departures(now)]


def test_one_frame_takes_serialisation_and_delay():
    line = Line("rate_bps=8000000,delay_ns=5000000")
    line.arrive(1000, now=SECOND)
    assert line.next(SECOND) == SECOND + 1 * MS + 5 * MS
    assert line.departures(SECOND + 6 * MS - 1) == []
    (only,) = line.departures(SECOND + 6 * MS)
    assert (only.due, only.wire_bytes, only.copies) == (SECOND + 6 * MS, 1000, 1)
    assert line.next(SECOND + 6 * MS) == NEVER


@pytest.mark.parametrize("rate", [1_000_000, 9_999_999_937, 300_000_007])
def test_rate_is_exact_to_the_nanosecond_over_many_small_frames(rate):
    times = due(Line(f"rate_bps={rate},queue_bytes=100000000", *plain_frames(3000, 66)), 10**12)
    assert len(times) == 3000 and times == sorted(times) and times[-1] == 3000 * 66 * 8 * SECOND // rate


def test_framing_is_charged_for_each_frame_and_takes_no_room_in_the_queue():
    line = Line("rate_bps=8192000,overhead_bytes=24,queue_bytes=2000", *plain_frames(3))
    assert not line.arrive(1000, now=0)
    assert due(line, SECOND) == [1 * MS, 2 * MS, 3 * MS]
    line.change("overhead_bytes=0,rate_bps=8000000", now=SECOND)
    assert line.arrive(1000, now=SECOND)
    assert due(line, 2 * SECOND) == [SECOND + 1 * MS]


def test_waking_late_does_not_cost_rate_and_an_idle_line_gathers_no_credit():
    line = Line("rate_bps=8000000,queue_bytes=1000000", *plain_frames(10))
    assert due(line, 3 * MS + 7) == [1 * MS, 2 * MS, 3 * MS]
    assert due(line, SECOND) == [n * MS for n in range(4, 11)]
    line.arrive(1000, now=SECOND)
    line.arrive(1000, now=SECOND)
    assert due(line, 2 * SECOND) == [SECOND + 1 * MS, SECOND + 2 * MS]


def test_queue_limits_what_waits_and_not_what_is_being_sent():
    line = Line("rate_bps=8000000,queue_bytes=2500")
    assert [line.arrive(1000, now=0) for _ in range(5)] == [True, True, True, False, False]
    assert line.arrive(500, now=0)
    assert line.arrive(1000, now=1 * MS)  # the second frame has started: its place is free
    assert not line.arrive(1000, now=1 * MS)
    line = Line("rate_bps=8000000,queue_bytes=0")
    assert line.arrive(1000, now=0), "it finds the line idle"
    assert not line.arrive(1000, now=1 * MS - 1)
    assert line.arrive(1000, now=1 * MS)


def test_change_of_rate_applies_to_what_waits_and_a_limit_can_be_lifted():
    line = Line("rate_bps=8000000,queue_bytes=100000", *plain_frames(4))
    line.change("rate_bps=80000000", now=1 * MS + 1)  # the second has started and keeps its time
    assert due(line, SECOND) == [1 * MS, 2 * MS, 2 * MS + 100_000, 2 * MS + 200_000]
    line = Line("rate_bps=8000,queue_bytes=100000", *plain_frames(3))
    line.change("rate_bps=0", now=1)
    assert due(line, 10 * SECOND) == [SECOND, SECOND, SECOND]


def test_loss_takes_line_time_and_its_share():
    line = Line("rate_bps=8000000,loss=0.25,queue_bytes=100000000", *plain_frames(4000))
    left = line.departures(10 * SECOND)
    assert all(departure.due == (mark_of(departure) + 1) * MS for departure in left)
    assert abs(len(left) - 3000) < 5 * (4000 * 0.25 * 0.75) ** 0.5
    assert line.stats()["drops"]["loss"] == 4000 - len(left)


def test_a_line_whose_frames_are_all_lost_goes_on():
    line = Line("rate_bps=8000000,loss=1,queue_bytes=100000", *plain_frames(3))
    assert line.next(0) == 1 * MS  # nothing is in flight, but the queue must be looked at
    assert line.departures(SECOND) == []
    assert line.stats()["drops"]["loss"] == 3 and line.next(SECOND) == NEVER


def departures(text, count=500, **seed):
    return Line(text, *plain_frames(count, 100), **seed).departures(SECOND)


def survivors(text, count=500):
    return list(map(mark_of, departures(text, count)))


@pytest.mark.parametrize(
    "text", ["loss=0.5", "burst_enter=0.1,burst_leave=0.3", "duplicate=0.5", "corrupt=0.5", "delay_ns=999,jitter_ns=99"]
)
def test_a_seed_repeats_what_happens_and_directions_differ(text):
    pattern = departures(text, seed=7, stream=0)
    assert departures(text, seed=7, stream=0) == pattern
    assert departures(text, seed=7, stream=1) != pattern
    assert departures(text, seed=8, stream=0) != pattern


def test_one_effect_does_not_change_the_chances_of_another():
    assert survivors("loss=0.5,jitter_ns=1000,jitter=uniform,delay_ns=5000") == survivors("loss=0.5")
    others = "loss=0.3,burst_enter=0.1,burst_leave=0.3,duplicate=0.3,delay_ns=5000000,jitter_ns=1000000"
    pairs = list(zip(departures(others), departures(f"{others},corrupt=0.5"), strict=True))
    assert all((one.due, one.copies) == (other.due, other.copies) for one, other in pairs)
    assert sum(one.data != other.data for one, other in pairs) > 100


def test_bursts_have_the_length_and_the_share_of_their_chain():
    count, enter, leave = 30_000, 0.02, 0.25
    arrived = set(survivors(f"burst_enter={enter},burst_leave={leave}", count))
    lost = [number not in arrived for number in range(count)]
    bursts = "".join("x" if each else " " for each in lost).split()
    assert sum(lost) / count == pytest.approx(enter / (enter + leave), rel=0.1)
    assert statistics.fmean(map(len, bursts)) == pytest.approx(1 / leave, rel=0.1)


def test_good_and_bad_states_lose_as_told():
    arrived = survivors("burst_enter=0.5,burst_leave=0.5,burst_loss_bad=0.4,burst_loss_good=0.2", 20_000)
    assert len(arrived) / 20_000 == pytest.approx(0.7, abs=0.02)


def test_a_duplicate_takes_no_time_of_the_line():
    line = Line("rate_bps=8000000,duplicate=0.25,queue_bytes=10000000", *plain_frames(4000))
    left = line.departures(10 * SECOND)
    assert [departure.due for departure in left] == [n * MS for n in range(1, 4001)]
    twice = sum(departure.copies == 2 for departure in left)
    assert abs(twice - 1000) < 5 * (4000 * 0.25 * 0.75) ** 0.5
    assert line.stats()["duplicated_packets"] == twice
    line.assert_all_accounted_for()


def flipped_bits(sent: bytes, arrived: bytes) -> list[int]:
    """The bits that differ, counted from the Ethernet header."""
    assert len(sent) == len(arrived)
    difference = int.from_bytes(sent[10:], "little") ^ int.from_bytes(arrived[10:], "little")
    return [bit for bit in range(difference.bit_length()) if difference >> bit & 1]


def test_corruption_flips_one_bit_behind_the_ethernet_header_and_delivers_the_packet():
    sent = plain_frames(4000, 200)
    line = Line("rate_bps=8000000,corrupt=0.25,queue_bytes=100000000", *sent)
    left = line.departures(10 * SECOND)
    assert [departure.due for departure in left] == [n * MS // 5 for n in range(1, 4001)]
    flips = [flipped_bits(frame, departure.data) for frame, departure in zip(sent, left, strict=True)]
    corrupted = [bits[0] for bits in flips if bits]
    assert all(len(bits) <= 1 for bits in flips)
    assert abs(len(corrupted) - 1000) < 5 * (4000 * 0.25 * 0.75) ** 0.5
    assert line.stats()["corrupted"] == len(corrupted) and sum(line.stats()["drops"].values()) == 0
    assert 14 * 8 <= min(corrupted) < 14 * 8 + 16 and 200 * 8 - 16 <= max(corrupted) < 200 * 8
    assert statistics.fmean(corrupted) == pytest.approx((14 + 200) / 2 * 8, rel=0.05)
    line.assert_all_accounted_for()


def delays(line, count=4000, gap=20 * MS):
    """Returns the delays of frames so far apart that none waits for another."""
    found = []
    for number in range(count):
        line.send(plain_frame(100, number), now=number * gap)
        found += [departure.due - mark_of(departure) * gap for departure in line.departures((number + 1) * gap)]
    return found + [departure.due - mark_of(departure) * gap for departure in line.departures(NEVER)]


def test_normal_jitter_has_its_mean_and_deviation():
    found = delays(Line("delay_ns=10000000,jitter_ns=1000000"))
    assert statistics.fmean(found) == pytest.approx(10 * MS, rel=0.01)
    assert statistics.stdev(found) == pytest.approx(1 * MS, rel=0.06)
    beyond = sum(abs(delay - 10 * MS) > 2 * MS for delay in found) / len(found)
    assert 0.03 < beyond < 0.06  # 4.6 % of a normal distribution, none of a uniform one
    assert min(delays(Line("delay_ns=100000,jitter_ns=1000000"), 500)) == 0, "a delay is never below zero"


def test_uniform_jitter_fills_its_width():
    found = delays(Line("delay_ns=10000000,jitter_ns=2000000,jitter=uniform"))
    assert 8 * MS <= min(found) < 8.02 * MS and 11.98 * MS < max(found) <= 12 * MS
    assert statistics.stdev(found) == pytest.approx(4 * MS / 12**0.5, rel=0.04)


def test_a_frame_that_overtakes_is_not_late():
    text = "rate_bps=8000000,delay_ns=50000000,jitter_ns=40000000,jitter=uniform,reorder=1,queue_bytes=1000000"
    line, now, left = Line(text, *plain_frames(200)), 0, []
    while (now := line.next(now)) != NEVER:
        at_once = line.departures(now)
        assert all(departure.due == now for departure in at_once)
        left += at_once
    assert len(left) == 200


def test_order_is_kept_when_reordering_is_switched_off():
    line = Line("delay_ns=5000000,jitter_ns=4000000,reorder=1", *plain_frames(100, 100))
    line.change("reorder=0,jitter_ns=0", now=1)
    for number in range(100, 200):
        line.send(plain_frame(100, number), now=2)
    left = line.departures(SECOND)
    assert sorted(map(mark_of, left)) == list(range(200))
    assert [mark_of(each) for each in left if mark_of(each) >= 100] == list(range(100, 200))
    line.assert_all_accounted_for()


def write_trace(folder, *lines):
    path = folder / "trace"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_an_opportunity_that_nobody_uses_is_gone(tmp_path):
    line = Line(f"trace={write_trace(tmp_path, 1, 2, 10)},queue_bytes=100000", now=100 * MS)
    for _ in range(2):
        line.arrive(FULL, now=105 * MS)
    assert due(line, 10 * SECOND) == [110 * MS, 111 * MS]
    line.arrive(FULL, now=100 * MS + 3600 * SECOND)  # far ahead: found, not counted through
    assert due(line, 3700 * SECOND) == [100 * MS + 3600 * SECOND]


@pytest.mark.parametrize(
    ("lines", "bound"),
    [
        ([1, 1, 1, 2, 2, 2, 3, 3, 3], 4 * FULL),  # the last of a millisecond, and three of the next
        ([1, 1, 1, 3, 3, 3], 0),  # nothing in the second millisecond
        ([1, 1, 1, 1, 1, 2], 0),  # the first of the next period does not make three
        ([1, 1, 1, 1, 1, 2, 2], 3 * FULL),
        ([1] * 100, 65536),
    ],
)
def test_gso_packets_follow_a_trace_that_is_fast_all_the_time(tmp_path, lines, bound):
    assert bounds(f"trace={write_trace(tmp_path, *lines)}")[0] == bound


def mahimahi(trace, packets):
    """The rule of mahimahi's LinkQueue (src/frontend/link_queue.cc): when each packet leaves, in ms.

    `packets` are (arrival in ms, bytes). At each opportunity 1514 bytes are sent of what has arrived before it, the
    rest of a packet first; what then is left of the opportunity is gone. An opportunity in the very millisecond of an
    arrival has been used up before.
    """
    left, waiting, transit = [], list(packets), 0
    for period in itertools.count():
        for at in (period * trace[-1] + line for line in trace):
            opportunity = FULL
            while opportunity > 0:
                if transit == 0:
                    if not waiting or waiting[0][0] >= at:
                        break
                    transit = waiting[0][1]
                sent = min(opportunity, transit)
                opportunity, transit = opportunity - sent, transit - sent
                if transit == 0:
                    waiting.pop(0)
                    left.append(at)
            if not waiting:
                return left


@pytest.mark.parametrize("seed", range(20))
def test_a_trace_delivers_packet_by_packet_as_mahimahi_does(tmp_path, seed):
    chance = random.Random(seed)
    trace = sorted(chance.randint(1, 60) for _ in range(chance.choice((3, 30, 300))))
    # Between two whole milliseconds: mahimahi knows no finer time, and calls an arrival in one of them late for it.
    arrivals = sorted(chance.randint(0, 400) for _ in range(400))
    packets = [(at, chance.choice((60, 600, 1514, 1514, 4000))) for at in arrivals]
    line = Line(f"trace={write_trace(tmp_path, *trace)},queue_bytes=100000000")
    left = []
    for number, (at, size) in enumerate(packets):
        now = at * MS + 500_000 + number
        left += due(line, now)
        line.send(plain_frame(size, number), now)
    left += due(line, NEVER - 1)
    assert left == [at * MS for at in mahimahi(trace, [(at + 0.5, size) for at, size in packets])]


def test_a_trace_ends_a_rate_and_the_other_way_round(tmp_path):
    line = Line("rate_bps=8000000,queue_bytes=100000", *plain_frames(4))
    line.change(f"trace={write_trace(tmp_path, 10)}", now=1)
    assert due(line, 15 * MS) == [1 * MS, 10 * MS + 1]
    line.change("rate_bps=8000000", now=15 * MS)
    assert due(line, SECOND) == [20 * MS + 1, 21 * MS + 1]


def test_codel_drops_when_its_law_says():
    """RFC 8289: the first after an interval above the target, the next ones an interval / sqrt(count) apart."""
    line = Line("rate_bps=12112000,queue_bytes=10000000,discipline=codel", *plain_frames(1000, FULL))
    arrived = {mark_of(departure) for departure in line.departures(100 * SECOND)}
    lost = [number for number in range(1000) if number not in arrived]
    # Packet n is taken at n ms. It has waited 5 ms from packet 5 on: dropping begins at 105 ms. Each drop moves the
    # packets behind it 1 ms forward.
    expected, at = [], 105.0
    for count in range(1, len(lost) + 1):
        expected.append(at)
        at += 100 / count**0.5
    found = [number - before for before, number in enumerate(lost)]
    assert len(lost) > 20
    assert all(abs(a - b) <= 2 for a, b in zip(found, expected, strict=True)), (found, expected)


def test_codel_leaves_a_short_queue_alone_and_drops_what_cannot_be_marked():
    line = Line("rate_bps=13000000,discipline=codel,queue_bytes=1000000")
    for number in range(2000):
        line.send(ip_packet(FULL), now=number * MS)
        line.send(ip_packet(60), now=number * MS)
    assert line.stats()["drops"]["aqm"] == 0
    line = Line("rate_bps=12112000,queue_bytes=10000000,discipline=codel,ecn=1", *[ip_packet(FULL, ecn=0)] * 1000)
    line.departures(100 * SECOND)
    assert line.stats()["ecn_marked"] == 0 and line.stats()["drops"]["aqm"] > 20


def test_fair_queueing_shares_equally_and_drops_from_the_longest():
    line = Line(f"rate_bps=12112000,queue_bytes={100 * FULL},discipline=fq_codel")
    for number in range(200):
        line.send(ip_packet(FULL, flow=1), now=0)
        if number % 10 == 0:
            line.send(ip_packet(FULL, flow=2), now=0)
    first = [departure.data[10 + 34 + 1] for departure in line.departures(30 * MS)]
    flows = {flow: first.count(flow) for flow in set(first)}
    assert min(flows.values()) > 12, "two flows with a backlog take turns"
    rest = [departure.data[10 + 34 + 1] for departure in line.departures(100 * SECOND)]
    assert (first + rest).count((1000 + 2) & 255) == 20, "the short flow lost something to the long one's excess"
    assert line.stats()["drops"]["queue"] > 90
    line.assert_all_accounted_for()


@pytest.mark.parametrize("before", ["droptail", "codel", "fq_codel"])
@pytest.mark.parametrize("after", ["droptail", "codel", "fq_codel"])
def test_a_change_of_discipline_or_bound_loses_nothing(before, after):
    frames = [ip_packet(FULL, flow=number % 3) for number in range(50)]
    line = Line(f"rate_bps=12112000,queue_bytes=1000000,discipline={before}", *frames)
    line.change(f"discipline={after},queue_bytes=2000", now=1)
    assert len(line.departures(SECOND)) == 50
    line.assert_all_accounted_for()


@pytest.mark.parametrize(
    ("text", "bound", "queue"),
    [
        ("delay_ns=1", 65536, None),
        ("rate_bps=10000000000,delay_ns=15000000", 65536, 37_500_000),
        ("rate_bps=100000000", 12500, 125_000),
        ("rate_bps=1000000", 0, 32768),
        ("rate_bps=1000000,queue_bytes=0", 0, 0),
        ("rate_bps=20000000", 0, None),
        ("rate_bps=10000000000,jitter_ns=1000", 65536, None),
        ("rate_bps=10000000000,jitter_ns=1000,reorder=1", 0, None),
        ("rate_bps=10000000000,corrupt=0.1", 0, None),
    ],
)
def test_gso_packets_keep_the_line_busy_for_a_bounded_time_and_queues_have_a_default(text, bound, queue):
    assert bounds(text) == (bound, queue if queue is not None else bounds(text)[1])
