"""Conformance of link emulators, one suite for all: counters, order and times must be exact."""

import contextlib
import itertools
import json
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from flightpath.commands import run
from flightpath.errors import MeasurementFailed
from flightpath.waiting import wait_until
from tests.support.link_pair import HEADERS, LARGE, SMALL, Arrival, Pair, balanced, transfer
from topologies.hosts.multihomed import MultihomedHost
from topologies.links import events
from topologies.links.changes import DIRECTIONS, Direction
from topologies.links.spec import ETHERNET_HEADER_BYTES, BurstLoss, LinkSpec

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

# In virtual time reading the clock takes 0.256 us, so the relay needs up to 15 us for a packet.
SLACK_S = 25e-6
# Seconds since 1970 as floating-point numbers are 0.24 us apart.
CLOCK_S = 0.5e-6
# Long enough to change a link while packets are in it.
LONG_S = 1.0
ECT1, ECT0, CE = 1, 2, 3


@contextlib.contextmanager
def linked(emulator: str, spec: LinkSpec | None = None, **specs: LinkSpec) -> Iterator[Pair]:
    """Makes two hosts and a link with these specifications between them."""
    with contextlib.ExitStack() as stack:
        yield Pair(stack, emulator, {"spec": spec} if spec else specs)


def sent(pair: Pair, count: int, *, way: Direction = "a_to_b", **how: Any) -> dict[str, Any]:
    """Sends datagrams as `Pair.send` does; returns the counters of their direction once the link is at rest."""
    pair.send(count, way=way, **how)
    return pair.settled(way)


def within(count: int, packets: int, probability: float, deviations: float = 5) -> bool:
    """Returns whether a count fits the binomial distribution; wrong in one run in a million."""
    return abs(count - packets * probability) < deviations * (packets * probability * (1 - probability)) ** 0.5


def interface(host: MultihomedHost) -> dict[str, Any]:
    """Returns what the kernel tells of a host's only interface."""
    return json.loads(host.run(["ip", "-s", "-j", "link", "show", "dev", host.intfs[0].name]))[0]


def frames_received(host: MultihomedHost) -> int:
    return interface(host)["stats64"]["rx"]["packets"]


def has_carrier(host: MultihomedHost) -> bool:
    return "LOWER_UP" in interface(host)["flags"]


def is_rate(arrivals: Sequence[Arrival], asked_bps: float, charged_bytes: int = LARGE + HEADERS) -> bool:
    """Returns whether a train, of large datagrams by default, arrived at this rate without its first tenth.

    After a pause, a link may pass a burst of one packet or of 1 ms.
    """
    train = arrivals[len(arrivals) // 10 :]
    found_bps = (len(train) - 1) * charged_bytes * 8 / (train[-1].at_s - train[0].at_s)
    print(f"{found_bps:.0f} of {asked_bps} bit/s")
    return found_bps == pytest.approx(asked_bps, rel=1e-5)


@pytest.mark.parametrize(("bandwidth_bps", "count"), [(5_000_000, 300), (40_000_000, 1500)])
def test_a_train_arrives_at_the_rate_asked_for(emulator, bandwidth_bps, count):
    with linked(emulator, LinkSpec(bandwidth_bps=bandwidth_bps, queue="2000p")) as pair:
        # At twice the rate: a slow machine's kernel drops what comes all at once before the link has seen it.
        sent(pair, count, pause_s=(LARGE + HEADERS) * 8 / bandwidth_bps / 2)
        assert is_rate(pair.arrivals(), bandwidth_bps)
        assert [arrival.number for arrival in pair.arrivals()] == list(range(count))


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_ethernet_s_framing_is_charged_for_each_frame(emulator, size):
    bandwidth_bps = 5_000_000
    with linked(emulator, LinkSpec(bandwidth_bps=bandwidth_bps, framing="ethernet", queue="2000p")) as pair:
        for framing, charged in (("ethernet", size + HEADERS + 24), ("none", size + HEADERS)):
            pair.link.change(framing=framing)
            numbers = pair.send(300, size=size, pause_s=charged * 8 / bandwidth_bps / 2)
            pair.settled()
            arrivals = pair.arrivals()[-300:]
            assert [arrival.number for arrival in arrivals] == numbers
            assert is_rate(arrivals, bandwidth_bps, charged)
            assert arrivals[0].delay_s == pytest.approx(charged * 8 / bandwidth_bps, abs=SLACK_S)


def test_each_direction_has_its_own_delay_and_rate(emulator):
    there, back = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.02), LinkSpec(bandwidth_bps=4_000_000, delay_s=0.05)
    with linked(emulator, a_to_b=there, b_to_a=back) as pair:
        for way, spec in zip(DIRECTIONS, (there, back), strict=True):
            sent(pair, 20, way=way, size=SMALL, pause_s=0.005)
            delays = [arrival.delay_s for arrival in pair.arrivals(way)]
            # Outside virtual time netem sends a packet after a pause without serialising it.
            delay_s = spec.delay_s + ((SMALL + HEADERS) * 8 / spec.bandwidth_bps)
            assert delay_s - CLOCK_S <= min(delays) < delay_s + SLACK_S
            assert statistics.median(delays) < delay_s + 2 * SLACK_S


@pytest.mark.parametrize(("queue", "size", "bandwidth_bps"), [("10p", SMALL, 800_000), ("15kB", LARGE, 8_000_000)])
def test_a_full_queue_drops_exactly_what_does_not_fit(emulator, queue, size, bandwidth_bps):
    with linked(emulator, LinkSpec(bandwidth_bps=bandwidth_bps, delay_s=0.005, queue=queue)) as pair:
        assert sent(pair, 40, size=size)["drops"]["queue"] == 29
        # One is being sent, ten wait.
        assert [arrival.number for arrival in pair.arrivals()] == list(range(11))
        delays = [arrival.delay_s for arrival in pair.arrivals()]
        expected = [0.005 + number * (size + HEADERS) * 8 / bandwidth_bps for number in range(1, 12)]
        assert delays == pytest.approx(expected, abs=SLACK_S + 40 * 2e-6)  # sending takes some readings of the clock


def test_random_loss_has_its_probability_and_no_memory(emulator):
    count, loss = 3000, 0.1
    with linked(emulator, LinkSpec(loss=loss)) as pair:
        stats = sent(pair, count, size=SMALL)
        assert within(stats["drops"]["loss"], count, loss)
        bursts = burst_lengths(pair.arrivals(), count)
        # After a loss the next packet is lost with the same probability: as many bursts of two and more.
        assert within(sum(length > 1 for length in bursts), len(bursts), loss)


def test_burst_loss_has_its_share_and_its_length(emulator):
    count, burst = 6000, BurstLoss(0.02, 0.25)
    with linked(emulator, LinkSpec(burst_loss=burst)) as pair:
        stats = sent(pair, count, size=SMALL)
        # About 110 bursts: their number and their mean length are known to a tenth each.
        mean = burst.enter / (burst.enter + burst.leave)
        assert stats["drops"]["loss"] / count == pytest.approx(mean, rel=0.5)
        assert statistics.fmean(burst_lengths(pair.arrivals(), count)) == pytest.approx(4, rel=0.45)


def burst_lengths(arrivals: Sequence[Arrival], count: int) -> list[int]:
    """Returns the lengths of all runs of lost packets."""
    numbers = [-1, *(arrival.number for arrival in arrivals), count]
    return [after - before - 1 for before, after in itertools.pairwise(numbers) if after > before + 1]


def test_duplicates_come_at_their_probability(emulator):
    count, share = 3000, 0.1
    with linked(emulator, LinkSpec(duplication=share)) as pair:
        stats = sent(pair, count, size=SMALL)
        assert within(stats["duplicated_packets"], count, share)
        assert sum(stats["drops"].values()) == 0
        seen = [arrival.number for arrival in pair.arrivals()]
        assert len(seen) == count + stats["duplicated_packets"] and set(seen) == set(range(count))


def checksum_errors(host: MultihomedHost, protocol: str) -> int:
    """Returns the number of packets of a protocol (`Udp`, `Tcp`, `IpExt`) that the host dropped for their checksum."""
    lines = (host.run(["cat", "/proc/net/snmp"]) + host.run(["cat", "/proc/net/netstat"])).splitlines()
    names, values = (line.split() for line in lines if line.startswith(f"{protocol}:"))
    return int(values[names.index("InCsumErrors")])


def test_corrupted_packets_are_delivered_at_their_probability_and_dropped_by_the_receiver(emulator):
    count, share = 3000, 0.1
    with linked(emulator, LinkSpec(corruption=share)) as pair:
        receiver = pair.hosts["b_to_a"]
        pair.send(count, size=SMALL)
        wait_until(lambda: pair.counters()["out_packets"] == count, "all packets to leave", 30)
        counters = pair.counters()
        assert sum(counters["drops"].values()) == counters["queued_packets"] == 0
        wait_until(lambda: len(pair.arrivals()) >= count * (1 - 1.3 * share), "the others to be received", 30)
        time.sleep(0.2)
        numbers = [arrival.number for arrival in pair.arrivals()]
        assert within(count - len(numbers), count, share)
        assert sorted(set(numbers)) == sorted(numbers) and set(numbers) <= set(range(count))
        # The kernel checks UDP's checksum when the packet is received. Others are damaged where no checksum looks: in
        # Ethernet's header.
        errors = sum(checksum_errors(receiver, protocol) for protocol in ("Udp", "IpExt"))
        assert within(errors, count, share * (1 - ETHERNET_HEADER_BYTES / (SMALL + HEADERS)))
        if counters["corrupted"] is not None:
            assert within(counters["corrupted"], count, share)
            assert errors <= count - len(numbers) <= counters["corrupted"]


def test_tcp_delivers_every_byte_right_over_a_link_that_corrupts(emulator):
    with linked(emulator, LinkSpec(bandwidth_bps=50_000_000, delay_s=0.002, corruption=0.02)) as pair:
        data = os.urandom(1_000_000)
        assert transfer(pair, data) == data
        assert sum(checksum_errors(host, "Tcp") for host in pair.hosts.values()) > 0
        assert all(pair.counters(way)["spec"]["max_frame_bytes"] == 0 for way in DIRECTIONS)


@pytest.mark.parametrize(("distribution", "deviation_s"), [("normal", 0.02), ("uniform", 0.02 / 3**0.5)])
def test_jitter_spreads_delays_and_reorders_if_it_may(emulator, distribution, deviation_s):
    jitter = {"jitter_s": 0.02, "jitter_distribution": distribution}
    with linked(emulator, LinkSpec(delay_s=0.1, reordering=True, **jitter)) as pair:
        sent(pair, 800, size=SMALL)
        delays = [arrival.delay_s for arrival in pair.arrivals()]
        assert statistics.median(delays) == pytest.approx(0.1, abs=0.005 + SLACK_S)
        assert statistics.stdev(delays) == pytest.approx(deviation_s, rel=0.2, abs=SLACK_S / 10)
        numbers = [arrival.number for arrival in pair.arrivals()]
        assert numbers != sorted(numbers) and set(numbers) == set(range(800))


def test_jitter_keeps_packets_in_order_unless_told_otherwise(emulator):
    with linked(emulator, LinkSpec(delay_s=0.05, jitter_s=0.01)) as pair:
        sent(pair, 200, size=SMALL, pause_s=0.004)
        assert [arrival.number for arrival in pair.arrivals()] == list(range(200))
        delays = [arrival.delay_s for arrival in pair.arrivals()]
        assert statistics.stdev(delays) > 0.003
        assert min(delays) < 0.05 + SLACK_S and max(delays) > 0.06


@pytest.mark.parametrize(
    ("discipline", "ecn"), [("droptail", False), *itertools.product(("codel", "fq_codel"), (False, True))]
)
def test_active_queue_management_keeps_the_queue_short_or_marks_instead(emulator, discipline, ecn):
    """A plain queue is the control experiment: the same overload fills it."""
    with linked(emulator, LinkSpec(bandwidth_bps=2_000_000, discipline=discipline, ecn=ecn)) as pair:
        sent(pair, 625, pause_s=0.0048, tos=ECT0 if ecn else 0)  # for 3 s, at 1.2 times the rate
        delay_s = statistics.median(arrival.delay_s for arrival in pair.arrivals() if arrival.number > 400)
        drops, marked = pair.counters()["drops"], pair.counters()["ecn_marked"]
        if discipline == "droptail":
            assert delay_s > 0.3 and sum(drops.values()) == marked == 0
        elif ecn:  # datagrams do not slow down
            assert marked > 20 and drops["aqm"] == 0
        else:
            assert delay_s < 0.15 and drops["aqm"] > 20 and drops["queue"] == marked == 0
        assert sum(arrival.tos & 3 == CE for arrival in pair.arrivals()) == marked


@pytest.mark.parametrize(("discipline", "is_isolated"), [("fq_codel", True), ("droptail", False)])
def test_fair_queueing_lets_a_sparse_flow_pass_a_flood(emulator, discipline, is_isolated):
    with linked(emulator, LinkSpec(bandwidth_bps=1_000_000, discipline=discipline)) as pair:
        pair.send(150)
        pair.until_inside(100)
        sparse = {*pair.send(1, flow=1), *pair.send(1, flow=2)}
        pair.settled()
        place = max(place for place, arrival in enumerate(pair.arrivals()) if arrival.number in sparse)
        assert (place < 75) == is_isolated, f"{place} came before"


def test_pie_keeps_the_queue_short_and_marks():
    # Above a probability of 10 % it drops what it could mark (RFC 8033, 5.1): so little overload, a slow controller.
    with linked("netem", LinkSpec(bandwidth_bps=2_000_000, discipline="pie", ecn=True, tupdate_s=0.2)) as pair:
        pair.send(2000, pause_s=0.0057, tos=ECT0)
        stats, arrivals = pair.settled(), pair.arrivals()
        assert statistics.median(arrival.delay_s for arrival in arrivals if arrival.number > 1000) < 0.15
        assert stats["ecn_marked"] > 10 and stats["drops"]["aqm"] > 5 and stats["drops"]["queue"] == 0
        assert sum(arrival.tos & 3 == CE for arrival in arrivals) == stats["ecn_marked"]


def test_dualpi2_marks_l4s_packets_which_pass_a_flood_of_others():
    spec = LinkSpec(bandwidth_bps=2_000_000, discipline="dualpi2", step_threshold_s=0.01, target_s=1)
    with linked("netem", spec) as pair:
        pair.send(100)
        pair.until_inside(90)
        l4s = set(pair.send(20, flow=1, tos=ECT1))
        early = pair.link.queue_statistics("a_to_b")
        assert early["delay_c_us"] > 0 and early["delay_l_us"] > 0
        stats = pair.settled()
        arrived = pair.arrivals()
        assert balanced(stats) and stats["out_packets"] == 120
        assert max(place for place, arrival in enumerate(arrived) if arrival.number in l4s) < 60
        marked = {arrival.number for arrival in arrived if arrival.tos & 3 == CE}
        # A packet takes 5.8 ms: all that found two others before them.
        assert marked <= l4s and len(marked) in (17, 18, 19)
        queue = stats["dualpi2"]
        assert (queue["packets_in_c"], queue["packets_in_l"]) == (100, 20)
        assert queue["step_marks"] == queue["ecn_mark"] == stats["ecn_marked"] == len(marked)


def test_options_of_dualpi2_can_change():
    with linked("netem", LinkSpec(bandwidth_bps=2_000_000, discipline="dualpi2")) as pair:
        sent(pair, 5, tos=ECT0)
        pair.link.change("a_to_b", l4s="any_ect")
        queue = sent(pair, 7, tos=ECT0)["dualpi2"]
        assert (queue["packets_in_c"], queue["packets_in_l"]) == (5, 7)


def test_tcp_fills_the_link_s_queue_and_not_its_own(emulator):
    """A sender whose kernel took the link's queue for its own card's would hold back and never fill it."""
    with linked(emulator, LinkSpec(bandwidth_bps=20_000_000, delay_s=0.01, queue="20p")) as pair:
        data = os.urandom(1_500_000)
        assert transfer(pair, data) == data
        assert pair.counters()["drops"]["queue"] > 0


def test_a_transfer_arrives_byte_for_byte(emulator):
    spec = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.002, loss=0.01, duplication=0.01, jitter_s=0.0005)
    with linked(emulator, spec) as pair:
        data = os.urandom(1_000_000)
        assert transfer(pair, data) == data
        wait_until(lambda: all(balanced(pair.counters(way)) for way in DIRECTIONS), "the counters to add up", 30)
        stats = pair.counters()
        # What a capture on a real wire would show: the data, and headers with each segment.
        assert stats["in_bytes"] >= len(data) + 66 * (len(data) // 1448)
        assert stats["in_packets"] >= len(data) // 1448
        if stats["spec"]["max_frame_bytes"] == 0:
            receiver = pair.hosts["b_to_a"]
            # One more may come between the two looks.
            wait_until(lambda: frames_received(receiver) == pair.counters()["out_packets"], "each in one piece", 10)


def test_a_higher_bandwidth_frees_what_waits_and_loses_nothing(emulator):
    with linked(emulator, LinkSpec(bandwidth_bps=100_000)) as pair:
        pair.send(200)
        pair.until_inside(150)
        pair.link.change(bandwidth_bps=50_000_000)
        pair.settled(limit_s=20)  # 22 s at the rate before
        assert [arrival.number for arrival in pair.arrivals()] == list(range(200))
        pair.link.change(bandwidth_bps=None)
        pair.link.change("b_to_a", bandwidth_bps=5_000_000)
        sent(pair, 200, way="b_to_a")
        assert is_rate(pair.arrivals("b_to_a"), 5_000_000)


def test_a_shorter_delay_neither_loses_nor_reorders_what_is_in_flight(emulator):
    with linked(emulator, LinkSpec(delay_s=LONG_S)) as pair:
        pair.send(50, size=SMALL)
        pair.until_inside(50)
        pair.link.change(delay_s=0.01)
        sent(pair, 50, size=SMALL)
        assert [arrival.number for arrival in pair.arrivals()] == list(range(100))
        assert min(arrival.delay_s for arrival in pair.arrivals()[:50]) >= LONG_S
        sent(pair, 5, size=SMALL)
        assert min(arrival.delay_s for arrival in pair.arrivals()[100:]) < 0.01 + SLACK_S


def test_a_table_of_delay_and_loss_is_followed_and_repeated(emulator, tmp_path):
    table, row_s, delays_s = tmp_path / "table.csv", 0.25, (0.010, 0.030, 0.020)
    table.write_text("time,delay,loss\n0s,10ms,0%\n250ms,30ms,\n500ms,20ms,100%\n750ms,end\n")
    with linked(emulator, LinkSpec(delay_s=0.001)) as pair:
        start_ns = time.monotonic_ns() + 100_000_000
        start_s = time.time() + (start_ns - time.monotonic_ns()) / 1e9
        events.schedule(events.parse_events([f"0s a->b table={table} repeat=2"]), [pair.link], start_ns)
        stats = sent(pair, 350, size=SMALL, pause_s=0.005)
        assert len(pair.arrivals()) > 200
        for arrival in pair.arrivals():
            row = int((arrival.sent_s - start_s) / row_s)
            since_s = arrival.sent_s - start_s - row * row_s
            if 0 <= row < 6 and 0.0001 < since_s < row_s - max(delays_s) - SLACK_S:
                assert row % 3 != 2
                assert delays_s[row % 3] - CLOCK_S <= arrival.delay_s < delays_s[row % 3] + SLACK_S
        # 50 in the third row, and 80 from its second time on to the end, because the last row stays.
        assert 128 <= stats["drops"]["loss"] <= 131
        pair.link.check()


def swallow(pair: Pair, cause: str, on: bool, at_ns: int | None = None) -> None:
    if cause == "loss":
        pair.link.change("a_to_b", loss=float(on), at_ns=at_ns)
    else:
        pair.link.set_black_hole(on, "a_to_b", at_ns=at_ns)


@pytest.mark.parametrize("cause", ["loss", "blackhole"])
def test_a_change_that_waits_comes_neither_early_nor_undoes_another(emulator, cause):
    with linked(emulator, LinkSpec(delay_s=0.001)) as pair:
        due_ns = time.monotonic_ns() + 1_500_000_000
        swallow(pair, cause, True, at_ns=due_ns)
        pair.link.change("a_to_b", delay_s=0.1)
        pair.send(20, size=SMALL)
        assert time.monotonic_ns() < due_ns, "the machine was too slow for this test"
        assert pair.settled()["drops"][cause] == 0
        wait_until(lambda: pair.counters()["spec"][cause] == 1, "the change", 30)
        assert pair.counters()["spec"]["delay_ns"] == 100_000_000
        assert sent(pair, 20, size=SMALL)["drops"][cause] == 20
        pair.link.check()


@pytest.mark.parametrize("cause", ["loss", "blackhole"])
def test_what_swallows_packets_meets_those_that_enter_and_none_that_is_inside(emulator, cause):
    with linked(emulator, LinkSpec(delay_s=1.0)) as pair:
        early = pair.send(50, size=SMALL)
        pair.until_inside(50)
        swallow(pair, cause, True)
        pair.send(30, size=SMALL)
        pair.send(10, way="b_to_a", size=SMALL)
        stats = pair.settled()
        assert [arrival.number for arrival in pair.arrivals()] == early and stats["drops"][cause] == 30
        assert pair.settled("b_to_a")["drops"][cause] == 0
        assert all(has_carrier(host) for host in pair.hosts.values())
        swallow(pair, cause, False)
        assert sent(pair, 5, size=SMALL)["drops"][cause] == 30


def test_a_cut_cable_is_seen_at_both_ends_and_loses_what_is_inside(emulator):
    # Some wait for the rate, some are in propagation.
    with linked(emulator, LinkSpec(bandwidth_bps=1_000_000, delay_s=1.0)) as pair:
        ends = pair.hosts.values()
        pair.send(40)
        pair.until_inside(35)
        pair.link.set_carrier(False)
        wait_until(lambda: not any(has_carrier(host) for host in ends), "both ends to lose the carrier", 30)
        stats = pair.settled()
        assert stats["drops"]["down"] > 30
        pair.link.set_carrier(True)
        wait_until(lambda: all(has_carrier(host) for host in ends), "both ends to have a carrier", 30)
        after = pair.send(10)
        assert pair.settled()["drops"]["down"] == stats["drops"]["down"]
        assert [arrival.number for arrival in pair.arrivals()][-10:] == after


def test_counters_add_up_under_everything_at_once(emulator):
    # So much that among the hundred packets for which the queue has room some are lost and some doubled in any case.
    everything = {"loss": 0.2, "duplication": 0.2, "burst_loss": BurstLoss(0.01, 0.3), "jitter_s": 0.001}
    with linked(emulator, LinkSpec(bandwidth_bps=10_000_000, delay_s=0.005, queue="100p", **everything)) as pair:
        for way in DIRECTIONS:
            pair.send(600, way=way)
        for way in DIRECTIONS:
            stats = pair.settled(way)
            assert balanced(stats)
            assert stats["drops"]["queue"] > 0 and stats["drops"]["loss"] > 0 and stats["duplicated_packets"] > 0
            assert stats["in_bytes"] == 600 * (LARGE + HEADERS)
            assert stats["out_bytes"] == stats["out_packets"] * (LARGE + HEADERS)


def test_a_netem_link_that_has_lost_interfaces_names_them():
    with linked("netem", LinkSpec(loss=0.5)) as pair:
        pair.link.check()
        _, *middle, _ = pair.link.inner_names
        run(["ip", "link", "delete", "dev", middle[0]])
        with pytest.raises(MeasurementFailed, match=f"its interface {', '.join(middle)} is gone"):
            pair.link.check()
