"""Specifications of links: texts of users, options of Mininet's TCLink, and the emulator that is chosen for them."""

import ctypes
from functools import partial

import pytest

from flightpath.clock import Clock
from flightpath.errors import MissingCapability, UsageError
from tests.support.relay_line import driver
from topologies.links.emulators import choose_emulator, link_class
from topologies.links.spec import FIELDS, BurstLoss, LinkSpec, link_help
from topologies.mininet.scripts.tc_options import check_rest, link_spec, take_shape

EVERYTHING = {
    "bw": "50Mbit",
    "framing": "ethernet",
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


def test_ethernet_s_framing_is_charged_as_metal_does():
    plain, framed = (LinkSpec(bandwidth_bps=100_000_000, queue="20ms", framing=kind) for kind in ("none", "ethernet"))
    assert round(plain.payload_bps / 1e6, 2) == 95.64 and round(framed.payload_bps / 1e6, 2) == 94.15
    assert framed.serialisation_s(1514) == 1538 * 8 / 100e6
    assert framed.serialisation_s(1514) * framed.queue_bytes / 1514 == pytest.approx(0.02)


def test_everything_is_described_in_the_order_of_the_fields():
    assert str(LinkSpec()) == "unlimited, 0, queue 1000p"
    assert str(LinkSpec.parse(**EVERYTHING)) == (
        "50Mbit, ethernet framing, 15ms, jitter 2ms (uniform, with reordering), 0.1% loss, "
        "burst loss 1%:25%:100%:0%, 0.3% corrupted, 0.2% duplicated, queue 1bdp, codel with ECN"
    )
    dual = LinkSpec.parse(discipline="dualpi2", target="20ms", coupling="4", l4s="any_ect")
    assert str(dual) == "unlimited, 0, queue 1000p, dualpi2, target 20ms, coupling 4, l4s any_ect"


def test_a_trace_takes_no_framing(tmp_path):
    (tmp_path / "trace").write_text("1\n")
    with pytest.raises(UsageError, match=r"^framing: a trace counts packets"):
        LinkSpec(trace=tmp_path / "trace", framing="ethernet")


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
        ("loss", {"loss": "120%"}),
        ("queue", {"bandwidth": "1Mbit", "queue": "many"}),
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
        ("jitter", {"jitter_s": 61.0}),
        ("bandwidth", {"bandwidth_bps": 0}),
        ("distribution", {"jitter_distribution": "gauss"}),
        ("discipline", {"discipline": "red"}),
        ("mtu", {"mtu_bytes": 10_000}),
        ("burst_loss", {"burst_loss": (2.0, 0.1)}),
        ("ecn", {"ecn": True}),
        ("framing", {"framing": "atm"}),
        ("target", {"target_s": 0.01, "discipline": "codel"}),
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


@pytest.mark.parametrize(
    ("options", "spec"),
    [
        ({"bw": 0.5, "delay": "5ms", "loss": 1}, LinkSpec(bandwidth_bps=500_000, delay_s=0.005, loss=0.01)),
        ({"delay": "5msec"}, LinkSpec(delay_s=0.005)),
        ({"delay": "2 secs"}, LinkSpec(delay_s=2)),
        ({"delay": 5000}, LinkSpec(delay_s=0.005)),
        ({"delay": "5ms", "jitter": "1ms"}, LinkSpec(delay_s=0.005, jitter_s=0.001, jitter_distribution="uniform")),
        ({"bw": 10, "max_queue_size": 50}, LinkSpec(bandwidth_bps=10_000_000, queue="50p")),
        ({"bw": 10, "use_tbf": True, "latency_ms": 20}, LinkSpec(bandwidth_bps=10_000_000, queue="20ms")),
        ({"bw": 10, "use_htb": True, "use_hfsc": False, "enable_red": False}, LinkSpec(bandwidth_bps=10_000_000)),
        ({"bw": 10, "delay": "5ms", "queue": "1bdp"}, LinkSpec(bandwidth_bps=10_000_000, delay_s=0.005, queue="1bdp")),
    ],
)
def test_options_mean_what_tc_would_do(options, spec):
    assert link_spec(options) == spec


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"enable_red": True}, "enable_red is not emulated"),
        ({"bw": -1}, "bandwidth"),
        ({"loss": 101}, "loss: '101%' is more than 100%"),
        ({"delay": "5parsecs"}, "delay: cannot read '5parsecs'"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        link_spec(options)


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


@pytest.mark.parametrize(
    ("works", "requested", "chosen"),
    [
        (("relay", "netem"), "auto", "relay"),
        (("netem",), "auto", "netem"),
        (("relay", "netem"), "netem", "netem"),
        (("relay", "netem"), "relay", "relay"),
    ],
)
def test_the_one_asked_for_or_the_first_that_works(machine, works, requested, chosen):
    machine(*works)
    assert choose_emulator(requested) == chosen
    assert link_class(chosen).emulator == chosen


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
