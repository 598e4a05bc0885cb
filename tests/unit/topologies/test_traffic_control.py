"""Parts of tc's commands that conformance does not show: limits, large packets, and refusals."""

from pathlib import Path

import pytest

from flightpath.errors import UsageError
from topologies.links import traffic_control
from topologies.links.spec import BurstLoss, LinkSpec
from topologies.links.traffic_control import Stages

STAGES = Stages("in", "rate", "land", "out", 7)


def setup(spec: LinkSpec) -> list[str]:
    return list(traffic_control.setup(STAGES, spec))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (LinkSpec(bandwidth_bps=10_000_000_000), "bfifo limit 1514000"),
        (LinkSpec(bandwidth_bps=10_000_000_000), "burst 1250000"),
        (LinkSpec(bandwidth_bps=10_000_000_000, framing="ethernet"), "quantum 60000 overhead 24"),
        (LinkSpec(discipline="codel", queue="300p"), "codel limit 300 target 5ms interval 100ms noecn"),
        (LinkSpec(discipline="pie", queue="300p", ecn=True), "pie limit 300 target 15000us tupdate 15000us ecn"),
        (LinkSpec(discipline="pie", target_s=0.02, tupdate_s=0.03), "target 20000us tupdate 30000us noecn"),
        (LinkSpec(jitter_s=0.002), "delay 1.000us 2000.000us distribution normal"),
        (LinkSpec(burst_loss=BurstLoss(0.01, 0.25, 0.9, 0.001)), "loss gemodel 1% 25% 90% 0.1%"),
        # Both losses in one chain: 1 - 0.5 x (1 - 0.2).
        (LinkSpec(burst_loss=BurstLoss(0.01, 0.25, 0.5), loss=0.2), "loss gemodel 1% 25% 60% 20%"),
    ],
)
def test_what_no_measurement_shows_has_its_words(spec, words):
    assert any(words in line for line in setup(spec)), setup(spec)


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        (LinkSpec(bandwidth_bps=10**7, queue="20kB"), []),
        (LinkSpec(bandwidth_bps=10**6, queue="20kB"), ["htb"]),
        (LinkSpec(bandwidth_bps=10**7, queue="20kB", loss=0.1), ["netem"]),
        (LinkSpec(bandwidth_bps=10**6, queue="30kB", loss=0.1), ["htb", "bfifo", "netem"]),
    ],
)
def test_a_change_leaves_a_stage_alone_that_stays_as_it_is(after, changed):
    before = LinkSpec(bandwidth_bps=10**7, queue="20kB")
    seeds = iter([5])
    lines = list(traffic_control.change(STAGES, before, after, "bfifo", lambda: next(seeds)))
    assert [[kind for kind in ("htb", "bfifo", "netem") if kind in line] for line in lines] == [[it] for it in changed]
    assert [line.endswith(" seed 5") for line in lines] == [it == "netem" for it in changed]
    assert list(seeds) == ([] if "netem" in changed else [5]), "a seed that nothing uses would not be the one in force"


def test_seeds_that_follow_each_other_differ_in_all_their_bits():
    seeds = [1]
    for _ in range(200):
        seeds.append(traffic_control.next_seed(seeds[-1]))
    ones = [sum(seed >> bit & 1 for seed in seeds) for bit in range(60)]
    assert all(70 < count < 130 for count in ones) and max(seeds) < 2**63


def test_netem_has_room_for_all_that_is_in_propagation_in_the_smallest_packets():
    (line,) = (line for line in setup(LinkSpec(bandwidth_bps=1_000_000_000, delay_s=0.1)) if "netem" in line)
    assert int(line.split("limit ")[1].split()[0]) >= 1_000_000_000 * 0.1 / 8 / 60


@pytest.mark.parametrize(
    ("spec", "kind", "bound"),
    [
        (LinkSpec(), "bfifo", 65536),
        (LinkSpec(bandwidth_bps=100_000_000), "bfifo", 12500),
        (LinkSpec(bandwidth_bps=10_000_000), "bfifo", 0),
        (LinkSpec(bandwidth_bps=100_000_000), "pfifo", 0),
        (LinkSpec(loss=0.1), "bfifo", 0),
        (LinkSpec(bandwidth_bps=100_000_000, framing="ethernet"), "bfifo", 0),
    ],
)
def test_gso_packets_enter_where_nothing_must_hit_each_segment(spec, kind, bound):
    assert traffic_control.gso_packet_bytes(spec, kind) == bound


def test_what_netem_cannot_do_is_refused_by_name():
    for field, spec in (
        ("trace", LinkSpec(trace=Path("trace"))),
        ("jitter: 3s", LinkSpec(jitter_s=3)),
        ("delay: 8min", LinkSpec(delay_s=480)),
    ):
        with pytest.raises(UsageError, match=rf"^{field}.*\n.*--emulator relay"):
            traffic_control.refuse_impossible(spec)
    traffic_control.refuse_impossible(LinkSpec(jitter_s=2, delay_s=270))


@pytest.mark.parametrize(
    ("field", "kind", "changed"),
    [
        ("discipline", "bfifo", {"discipline": "codel"}),
        ("queue", "pfifo", {"queue": "15kB"}),
        ("distribution", "bfifo", {"jitter_distribution": "uniform"}),
    ],
)
def test_a_change_that_would_lose_packets_is_refused_by_name(field, kind, changed):
    with pytest.raises(UsageError, match=f"^{field}: "):
        traffic_control.refuse_change(LinkSpec(), LinkSpec(**changed), kind)
    traffic_control.refuse_change(LinkSpec(), LinkSpec(), kind)
