"""Specifications of links: texts of users, and the values that they mean."""

import ctypes

import pytest

from flightpath.errors import UsageError
from tests.support.relay_line import driver
from topologies.links.spec import FIELDS, BurstLoss, LinkSpec, link_help

EVERYTHING = {
    "bw": "50Mbit",
    "delay": "15ms",
    "jitter": "2ms",
    "distribution": "uniform",
    "reordering": "on",
    "loss": "0.1%",
    "burst_loss": "1%:25%",
    "corruption": "0.3%",
    "duplication": "0.2%",
    "queue": "1bdp",
    "discipline": "codel",
    "ecn": "yes",
    "mtu": "1400",
}


@pytest.mark.parametrize(("queue", "size"), [("1000p", 1_514_000), ("150kB", 150_000), ("20ms", 125_000)])
def test_a_queue_is_packets_bytes_or_time(queue, size):
    assert LinkSpec.parse(bandwidth="50Mbit", queue=queue).queue_bytes == size


def test_everything_is_described_in_the_order_of_the_fields():
    assert str(LinkSpec()) == "unlimited, 0, queue 1000p"
    assert str(LinkSpec.parse(**EVERYTHING)) == (
        "50Mbit, 15ms, jitter 2ms (uniform, with reordering), 0.1% loss, burst loss 1%:25%:100%:0%, 0.3% corrupted, "
        "0.2% duplicated, queue 1bdp, codel with ECN"
    )
    dual = LinkSpec.parse(discipline="dualpi2", target="20ms", coupling="4", l4s="any_ect")
    assert str(dual) == "unlimited, 0, queue 1000p, dualpi2, target 20ms, coupling 4, l4s any_ect"


def test_the_relay_understands_all_settings():
    bound, size = ctypes.c_uint32(), ctypes.c_uint64()
    for spec in (LinkSpec(), LinkSpec.parse(**EVERYTHING)):
        text = ",".join(f"{key}={value}" for key, value in spec.settings.items())
        assert driver().driver_bounds(text.encode(), ctypes.byref(bound), ctypes.byref(size)), text


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_reads_its_own_example_and_is_in_the_help(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("1\n")
    field = FIELDS[name]
    context = {"bw": "10Mbit", "delay": "20ms"} if name == "queue" else {}
    context |= {"discipline": field.disciplines[-1]} if field.disciplines else {}

    spec = LinkSpec.parse(**context, **{field.key: field.example})

    assert getattr(spec, name) != field.default or name == "mtu_bytes"
    assert f"{field.key}=" in link_help().replace(" or bw", "") and field.help in link_help()


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("bandwidth", {"bandwidth": "50MB/s/s"}),
        ("delay", {"delay": "15"}),
        ("delay", {"delay": "2min"}),
        ("loss", {"loss": "120%"}),
        ("queue", {"bandwidth": "1Mbit", "queue": "many"}),
        ("queue", {"queue": "20ms"}),
        ("queue", {"queue": "100B"}),
        ("queue", {"bandwidth": "1Mbit", "queue": "1bdp"}),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(field, arguments):
    with pytest.raises(UsageError, match=field):
        LinkSpec.parse(**arguments)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("loss", {"loss": 1.5}),
        ("duplication", {"duplication": -0.1}),
        ("jitter", {"jitter_s": 61.0}),
        ("bandwidth", {"bandwidth_bps": 0}),
        ("distribution", {"jitter_distribution": "gauss"}),
        ("discipline", {"discipline": "red"}),
        ("mtu", {"mtu_bytes": 10_000}),
        ("burst_loss", {"burst_loss": (2.0, 0.1)}),
        ("ecn", {"ecn": True}),
        ("ecn", {"ecn": True, "discipline": "dualpi2"}),
        ("target", {"target_s": 0.01, "discipline": "codel"}),
        ("coupling", {"coupling": 256, "discipline": "dualpi2"}),
        ("l4s", {"l4s": "ect0", "discipline": "dualpi2"}),
    ],
)
def test_values_out_of_their_bounds_are_refused_by_name(field, wrong):
    with pytest.raises(UsageError, match=f"^{field}: "):
        LinkSpec(**{name: BurstLoss(*value) if name == "burst_loss" else value for name, value in wrong.items()})


@pytest.mark.parametrize(
    ("queue", "half"), [("1000p", "500p"), ("1p", "1p"), ("150kB", "75000B"), ("20ms", "20ms"), ("2bdp", "2bdp")]
)
def test_a_scaled_link_holds_as_much_time(queue, half):
    link = LinkSpec.parse(bandwidth="50Mbit", delay="15ms", queue=queue)
    scaled = link.scaled(0.5)
    assert (scaled.bandwidth_bps, scaled.delay_s, scaled.queue) == (25_000_000, 0.015, half)
    assert link.scaled(1) is link
    assert LinkSpec.parse(delay="15ms").scaled(0.5) == LinkSpec.parse(delay="15ms")
