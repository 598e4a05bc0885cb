"""Commands of tc(8) for a specification, and a check that this machine's tc accepts them."""

import shutil
import subprocess

import pytest

from flightpath.errors import UsageError
from topologies.links import traffic_control
from topologies.links.spec import BurstLoss, LinkSpec
from topologies.links.traffic_control import Stages

STAGES = Stages("in", "rate", "land", "out", 7)
KEEPS_ORDER = "rate 1000000000000bit"


def setup(spec: LinkSpec) -> list[str]:
    return list(traffic_control.setup(STAGES, spec))


def test_the_stages_of_a_direction_in_their_order():
    spec = LinkSpec(bandwidth_bps=10_000_000, delay_s=0.02, loss=0.001, queue="15kB")
    assert setup(spec) == [
        "filter add dev in ingress protocol all pref 1 matchall action mirred egress mirror dev rate pipe action drop",
        "filter add dev rate egress protocol all pref 1 matchall action gact pass index 7",
        "qdisc add dev rate root handle 1: htb default 1",
        "class add dev rate parent 1: classid 1:1 htb rate 10000000bit burst 1514 cburst 1514 quantum 60000",
        "qdisc add dev rate parent 1:1 handle 10: bfifo limit 15000",
        "filter add dev land ingress protocol all pref 1 matchall action mirred egress redirect dev out",
        "qdisc add dev out root handle 20: netem limit 1667 delay 20000.000us 0.000us loss random 0.1% corrupt 0% "
        + "duplicate 0% "
        + KEEPS_ORDER,
    ]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (LinkSpec(bandwidth_bps=1_000_000, queue="20p"), "pfifo limit 20"),
        (LinkSpec(bandwidth_bps=10_000_000_000), "bfifo limit 1514000"),
        (LinkSpec(bandwidth_bps=10_000_000_000), "burst 1250000"),
        (LinkSpec(discipline="codel", queue="300p"), "codel limit 300 target 5ms interval 100ms noecn"),
        (LinkSpec(discipline="fq_codel", ecn=True), "fq_codel limit 1000 target 5ms interval 100ms ecn"),
        (LinkSpec(delay_s=0.01, jitter_s=0.002), "delay 10000.000us 2000.000us distribution normal"),
        (LinkSpec(jitter_s=0.002), "delay 1.000us 2000.000us distribution normal"),
        (LinkSpec(jitter_s=0.002, jitter_distribution="uniform"), "delay 0.000us 2000.000us loss"),
        (LinkSpec(jitter_s=0.002, reordering=True), "rate 0bit"),
        (LinkSpec(duplication=0.25), "duplicate 25%"),
        (LinkSpec(corruption=0.001), "corrupt 0.1%"),
        (LinkSpec(burst_loss=BurstLoss(0.01, 0.25, 0.9, 0.001)), "loss gemodel 1% 25% 90% 0.1%"),
        # Both losses in one chain: 1 - 0.5 x (1 - 0.2).
        (LinkSpec(burst_loss=BurstLoss(0.01, 0.25, 0.5), loss=0.2), "loss gemodel 1% 25% 60% 20%"),
    ],
)
def test_each_field_has_its_words(spec, words):
    assert any(words in line for line in setup(spec)), setup(spec)


def test_netem_has_room_for_all_that_is_in_propagation_in_the_smallest_packets():
    (line,) = (line for line in setup(LinkSpec(bandwidth_bps=1_000_000_000, delay_s=0.1)) if "netem" in line)
    assert int(line.split("limit ")[1].split()[0]) >= 1_000_000_000 * 0.1 / 8 / 60


def test_a_change_changes_and_replaces_nothing():
    spec = LinkSpec(bandwidth_bps=10_000_000)
    lines = list(traffic_control.change(STAGES, spec, "pfifo", 5))
    assert [line.split()[:2] for line in lines] == [["class", "change"], ["qdisc", "change"], ["qdisc", "change"]]
    assert lines[-1].endswith("seed 5")
    assert "seed" not in list(traffic_control.change(STAGES, spec, "pfifo", None))[-1]


def test_a_gate_opens_and_shuts():
    assert traffic_control.gate(STAGES, is_open=True) == "actions change action gact pass index 7"
    assert traffic_control.gate(STAGES, is_open=False) == "actions change action gact drop index 7"


@pytest.mark.parametrize(
    ("spec", "kind", "bound"),
    [
        (LinkSpec(), "bfifo", 65536),
        (LinkSpec(bandwidth_bps=100_000_000), "bfifo", 12500),
        (LinkSpec(bandwidth_bps=10_000_000), "bfifo", 0),
        (LinkSpec(bandwidth_bps=100_000_000), "pfifo", 0),
        (LinkSpec(discipline="codel"), "codel", 0),
        (LinkSpec(loss=0.1), "bfifo", 0),
        (LinkSpec(corruption=0.1), "bfifo", 0),
    ],
)
def test_gso_packets_enter_where_nothing_must_hit_each_segment(spec, kind, bound):
    assert traffic_control.gso_packet_bytes(spec, kind) == bound


def test_what_netem_cannot_do_is_refused_by_name(tmp_path):
    trace = tmp_path / "trace"
    trace.write_text("1\n2\n")
    with pytest.raises(UsageError, match=r"trace.*\n.*--emulator relay"):
        traffic_control.refuse_impossible(LinkSpec(trace=trace))
    with pytest.raises(UsageError, match="jitter: 3s is more than the netem emulator's 2s"):
        traffic_control.refuse_impossible(LinkSpec(jitter_s=3))
    traffic_control.refuse_impossible(LinkSpec(jitter_s=2))


@pytest.mark.parametrize(
    ("before", "after", "kind", "field"),
    [
        (LinkSpec(), LinkSpec(discipline="codel"), "bfifo", "discipline"),
        (LinkSpec(), LinkSpec(queue="15kB"), "pfifo", "queue"),
        (LinkSpec(), LinkSpec(jitter_distribution="uniform"), "bfifo", "distribution"),
    ],
)
def test_a_change_that_would_lose_packets_is_refused_by_name(before, after, kind, field):
    with pytest.raises(UsageError, match=f"^{field}: "):
        traffic_control.refuse_change(before, after, kind)
    traffic_control.refuse_change(before, before, kind)


@pytest.mark.skipif(shutil.which("tc") is None, reason="tc is not installed")
@pytest.mark.parametrize(
    "spec",
    [
        LinkSpec(bandwidth_bps=10_000_000_000, delay_s=0.5, jitter_s=0.01, loss=1e-9, duplication=0.5, corruption=0.01),
        LinkSpec(jitter_s=1e-6, reordering=True, burst_loss=BurstLoss(0.01, 0.25), discipline="fq_codel", ecn=True),
        LinkSpec(discipline="codel"),
        LinkSpec(jitter_s=2, jitter_distribution="uniform", delay_s=60, queue="15kB"),
    ],
)
def test_this_machine_s_tc_knows_all_the_words(spec):
    """tc parses a line's options before it looks for the interface, which does not exist."""
    stages = Stages("nosuch0", "nosuch1", "nosuch2", "nosuch3", 7)
    for line in traffic_control.setup(stages, spec):
        if not line.startswith("filter"):
            done = subprocess.run(["tc", *line.split()], capture_output=True, text=True, check=False)
            assert "Cannot find device" in done.stderr, line
