"""Specifications of links: texts of users, options of Mininet's TCLink, and the emulator that is chosen for them."""

from functools import partial
from pathlib import Path

import pytest

from flightpath.clock import Clock
from flightpath.errors import MissingCapability, UsageError
from topologies.links.emulators import choose_emulator, link_class
from topologies.links.spec import FIELDS, BurstLoss, LinkSpec, link_help
from topologies.links.texts import read_pairs
from topologies.mininet.scripts.tc_options import check_rest, link_spec, take_shape


@pytest.mark.parametrize(("queue", "size"), [("1000p", 1_514_000), ("150kB", 150_000), ("20ms", 125_000)])
def test_a_queue_is_packets_bytes_or_time(queue, size):
    assert LinkSpec.parse(bandwidth="50Mbit", queue=queue).queue_bytes == size


def test_ethernet_s_framing_is_charged_as_metal_does():
    plain, framed = (LinkSpec(bandwidth_bps=100_000_000, queue="20ms", framing=kind) for kind in ("none", "ethernet"))
    assert round(plain.payload_bps / 1e6, 2) == 95.64 and round(framed.payload_bps / 1e6, 2) == 94.15
    assert framed.serialisation_s(1514) == 1538 * 8 / 100e6
    assert framed.serialisation_s(1514) * framed.queue_bytes / 1514 == pytest.approx(0.02)


def test_everything_is_described_in_the_order_of_the_fields():
    assert str(LinkSpec()) == "unlimited, 0, queue 1000p"
    shaped = "bw=50Mbit framing=ethernet delay=15ms jitter=2ms distribution=uniform reordering=on"
    impaired = "loss=0.1% burst_loss=1%:25% corruption=0.3% duplication=0.2% queue=1bdp discipline=codel ecn=yes"
    assert str(LinkSpec.parse(**read_pairs(f"{impaired} {shaped}"))) == (
        "50Mbit, ethernet framing, 15ms, jitter 2ms (uniform, with reordering), 0.1% loss, "
        "burst loss 1%:25%:100%:0%, 0.3% corrupted, 0.2% duplicated, queue 1bdp, codel with ECN"
    )
    dual = LinkSpec.parse(discipline="dualpi2", target="20ms", coupling="4", l4s="any_ect")
    assert str(dual) == "unlimited, 0, queue 1000p, dualpi2, target 20ms, coupling 4, l4s any_ect"


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
    ("field", "make"),
    [
        ("bandwidth", lambda: LinkSpec(bandwidth_bps=0)),
        ("loss", lambda: LinkSpec(loss=1.5)),
        ("burst_loss", lambda: BurstLoss(2.0, 0.1)),
        ("jitter", lambda: LinkSpec(jitter_s=61.0)),
        ("queue", lambda: LinkSpec.parse(bandwidth="1Mbit", queue="many")),
        ("queue", lambda: LinkSpec.parse(queue="100B")),
        ("queue", lambda: LinkSpec.parse(bandwidth="1Mbit", queue="1bdp")),
        ("discipline", lambda: LinkSpec(discipline="red")),
        ("mtu", lambda: LinkSpec(mtu_bytes=10_000)),
        ("ecn", lambda: LinkSpec(ecn=True)),
        ("framing", lambda: LinkSpec(framing="ethernet", trace=Path("trace"))),
        ("target", lambda: LinkSpec(target_s=0.01, discipline="codel")),
        ("l4s", lambda: LinkSpec(l4s="ect0", discipline="dualpi2")),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(field, make):
    with pytest.raises(UsageError, match=f"^{field}: "):
        make()


@pytest.mark.parametrize(("queue", "half"), [("1000p", "500p"), ("1p", "1p"), ("150kB", "75000B"), ("2bdp", "2bdp")])
def test_a_scaled_link_holds_as_much_time(queue, half):
    link = LinkSpec.parse(bandwidth="50Mbit", delay="15ms", queue=queue)
    scaled = link.scaled(0.5)
    assert (scaled.bandwidth_bps, scaled.delay_s, scaled.queue) == (25_000_000, 0.015, half)
    assert link.scaled(1) is link
    assert LinkSpec.parse(delay="15ms").scaled(0.5) == LinkSpec.parse(delay="15ms")


@pytest.mark.parametrize(
    ("options", "spec"),
    [
        ({"bw": 0.5, "delay": "5ms", "loss": 1}, LinkSpec(bandwidth_bps=500_000, delay_s=0.005, loss=0.01)),
        ({"delay": "5msec"}, LinkSpec(delay_s=0.005)),
        ({"delay": "2 secs"}, LinkSpec(delay_s=2)),
        ({"delay": 5000}, LinkSpec(delay_s=0.005)),
        ({"delay": "5ms", "jitter": "1ms"}, LinkSpec(delay_s=0.005, jitter_s=0.001, jitter_distribution="uniform")),
        ({"bw": 10, "use_tbf": True, "latency_ms": 20}, LinkSpec(bandwidth_bps=10_000_000, queue="20ms")),
        ({"bw": 10, "use_htb": True, "use_hfsc": False, "enable_red": False}, LinkSpec(bandwidth_bps=10_000_000)),
        ({"bw": 10, "delay": "5ms", "queue": "1bdp"}, LinkSpec(bandwidth_bps=10_000_000, delay_s=0.005, queue="1bdp")),
    ],
)
def test_options_mean_what_tc_would_do(options, spec):
    assert link_spec(options) == spec


def test_a_time_that_tc_would_not_read_is_refused():
    with pytest.raises(UsageError, match="delay: cannot read '5parsecs'"):
        link_spec({"delay": "5parsecs"})


def test_only_what_shapes_is_taken_from_an_interfaces_parameters():
    params = {"bw": 10, "ip": "10.0.0.1/8", "loss": None, "use_htb": True, "mac": None, "own": 1}

    assert take_shape(params) == {"bw": 10, "use_htb": True}
    assert params == {"ip": "10.0.0.1/8", "mac": None, "own": 1}
    check_rest(params)
    with pytest.raises(UsageError, match=r"link: 'delai' is unknown\n  did you mean 'delay'\?"):
        check_rest({**params, "delai": "5ms"})


def lacking(what: str, *_: object) -> None:
    raise MissingCapability(f"no {what}", f"as root: get {what}")


@pytest.fixture
def machine(monkeypatch):
    """A machine on which only the named emulators work."""

    def have(*works: str) -> None:
        for name in ("relay", "netem"):
            require = (lambda *_: None) if name in works else partial(lacking, name)
            monkeypatch.setattr(link_class(name), "require", require)

    return have


def test_the_one_asked_for_or_the_first_that_works(machine):
    machine("netem")
    assert choose_emulator("auto") == "netem"
    machine("relay", "netem")
    assert [choose_emulator(name) for name in ("auto", "relay", "netem")] == ["relay", "relay", "netem"]
    assert [link_class(name).emulator for name in ("relay", "netem")] == ["relay", "netem"]


def test_the_one_that_can_emulate_every_link(machine, monkeypatch):
    monkeypatch.setattr("topologies.links.emulators.clock_here", lambda: Clock.VIRTUAL)
    machine("relay", "netem")
    short, long = LinkSpec(delay_s=270), LinkSpec(delay_s=480)
    assert (choose_emulator("auto", {short}), choose_emulator("auto", {short, long})) == ("netem", "relay")
    with pytest.raises(UsageError, match="delay: 8min is more"):
        choose_emulator("netem", {long})


@pytest.mark.parametrize(("works", "requested", "missing"), [(("relay",), "netem", "netem"), ((), "auto", "relay")])
def test_what_does_not_work_says_how_to_get_it(machine, works, requested, missing):
    machine(*works)
    with pytest.raises(MissingCapability, match=f"no {missing}\n  as root: get {missing}"):
        choose_emulator(requested)


def test_an_unknown_one_is_refused_with_those_known():
    with pytest.raises(UsageError, match=r"'netm' is unknown\n.*auto, relay, netem"):
        choose_emulator("netm")


@pytest.mark.parametrize("discipline", ["pie", "dualpi2"])
def test_a_queue_that_only_the_kernel_has_is_not_the_relay_s(discipline):
    with pytest.raises(MissingCapability, match=rf"the relay has no queue discipline {discipline}\n.*--clock virtual"):
        choose_emulator("relay", {LinkSpec(discipline=discipline)})
