"""Calibration of links: their rates from synthetic trains of frames, and what probes tell."""

import random
from dataclasses import replace

import pytest

from topologies.calibration.frame_socket import HEADERS_BYTES, ReceivedFrame
from topologies.calibration.links import _lateness_ms
from topologies.calibration.records import LinkCalibration
from topologies.calibration.traffic import OneWay
from topologies.calibration.trains import Arrival, line_rate, train_for
from topologies.links.spec import LinkSpec

FRAME = 1514
LATENCY_NS = 2_000_000


def train(rate_bps, count=250, *, pause_ns=0, noise_ns=0):
    """Frames sent `pause_ns` apart over a line; each arrives up to `noise_ns` late."""
    noise = random.Random(1)
    free_ns, arrivals = 0, []
    for number in range(count):
        sent_ns = number * pause_ns
        free_ns = max(free_ns, sent_ns) + round(FRAME * 8e9 / rate_bps)
        late_ns = noise.randrange(noise_ns) if noise_ns else 0
        arrivals.append(Arrival((number + 1) * FRAME, sent_ns, free_ns + LATENCY_NS + late_ns))
    return arrivals


@pytest.mark.parametrize("rate_bps", [1_000_000, 50_000_000, 1_000_000_000])
def test_a_train_that_waits_tells_the_rate(rate_bps):
    assert line_rate(train(rate_bps), LATENCY_NS).waited_bps == pytest.approx(rate_bps, rel=1e-4)


def test_packets_that_are_late_now_and_then_change_little():
    arrivals = train(50_000_000, noise_ns=300_000)
    arrivals[-1] = Arrival(arrivals[-1].end_bytes, arrivals[-1].sent_ns, arrivals[-1].arrived_ns + 20_000_000)

    assert line_rate(arrivals, LATENCY_NS).waited_bps == pytest.approx(50_000_000, rel=0.003)


def test_pauses_of_the_sender_are_not_the_line_s():
    early, late = train(50_000_000, 150), train(50_000_000, 150)
    gap_ns, sent = 100_000_000, 150 * FRAME
    late = [Arrival(each.end_bytes + sent, each.sent_ns + gap_ns, each.arrived_ns + gap_ns) for each in late]

    rate = line_rate([*early, *late], LATENCY_NS)

    assert rate.waited_bps is None or rate.waited_bps == pytest.approx(50_000_000, rel=0.001)
    assert rate.overall_bps < 40_000_000


def test_a_sender_that_is_slower_than_the_line_does_not_convict_it():
    rate = line_rate(train(1_000_000_000, pause_ns=100_000), LATENCY_NS)

    assert rate.waited_bps is None
    assert rate.overall_bps == pytest.approx(FRAME * 8 / 100e-6, rel=0.01)


def test_next_to_nothing_tells_nothing():
    assert line_rate(train(1_000_000, 1), LATENCY_NS) is None


@pytest.mark.parametrize(
    ("spec", "bound"),
    [
        (LinkSpec(bandwidth_bps=10_000), 0),
        (LinkSpec(bandwidth_bps=50_000_000), 6_250),
        (LinkSpec(bandwidth_bps=50_000_000, queue="2p"), 6_250),
        (LinkSpec(bandwidth_bps=50_000_000, discipline="codel"), 6_250),
        (LinkSpec(bandwidth_bps=10_000_000_000), 65_536),
        (LinkSpec(bandwidth_bps=10_000_000_000, mtu_bytes=9000), 65_536),
    ],
    ids=str,
)
def test_a_train_fits_the_link(spec, bound):
    train = train_for(spec, spec.bandwidth_bps, bound)

    assert train.frames >= 16
    assert train.segment_bytes + HEADERS_BYTES <= spec.frame_bytes
    assert train.payload_bytes + HEADERS_BYTES < max(bound, spec.frame_bytes + 1)
    assert train.payload_bytes + 40 <= 65_535
    frame = train.wire_bytes(train.payload_bytes)
    assert frame == train.segments * (train.segment_bytes + HEADERS_BYTES)
    assert frame <= train.backlog_bytes <= max(spec.queue_bytes // 2, 2 * frame)


def test_segments_carry_their_headers():
    for framing, frame_bytes in (("none", 1514), ("ethernet", 1514 + 24)):
        train = train_for(LinkSpec(bandwidth_bps=10_000_000_000, framing=framing), 10_000_000_000, 65_536)
        assert train.wire_bytes(1460) == frame_bytes
        assert train.wire_bytes(1461) == 1461 + 2 * (frame_bytes - 1460)


def test_an_emulator_that_cannot_tell_lateness_is_judged_by_how_late_probes_came():
    calibration = LinkCalibration("h1_a", "a_to_b", 10.2, 15.2, 10.0)

    assert _lateness_ms({"lateness_ns": None}, calibration) == pytest.approx(5.0)
    assert _lateness_ms({"lateness_ns": None}, replace(calibration, delay_uncertainty_ms=1.0)) == 0
    assert _lateness_ms({"lateness_ns": {"p99": 300_000}}, calibration) == 0.3


def test_a_frame_that_was_damaged_on_the_way_is_ignored():
    arrived = [ReceivedFrame(7, position, 10, at_ns) for at_ns, position in enumerate((10, 1 << 20, 0, 11, 10))]
    way = OneWay("a_to_b", LinkSpec(), None, None, {7: arrived})

    assert [(frame.position, frame.arrived_ns) for frame in way.frames_of(7, 20, 10)] == [(0, 2), (10, 0)]
