"""Options of Mininet's TCLink: their specifications for our links, and those that are refused."""

import pytest

from flightpath.errors import UsageError
from topologies.links.spec import LinkSpec
from topologies.mininet.scripts.tc_options import check_rest, link_spec, take_shape


@pytest.mark.parametrize(
    ("options", "spec"),
    [
        ({"bw": 10}, LinkSpec(bandwidth_bps=10_000_000)),
        ({"bw": 0.5, "delay": "5ms", "loss": 1}, LinkSpec(bandwidth_bps=500_000, delay_s=0.005, loss=0.01)),
        ({"delay": "5msec"}, LinkSpec(delay_s=0.005)),
        ({"delay": "2 secs"}, LinkSpec(delay_s=2)),
        ({"delay": 5000}, LinkSpec(delay_s=0.005)),
        ({"delay": "0ms", "bw": 5}, LinkSpec(bandwidth_bps=5_000_000)),
        ({"delay": "5ms", "jitter": "1ms"}, LinkSpec(delay_s=0.005, jitter_s=0.001, jitter_distribution="uniform")),
        ({"bw": 10, "max_queue_size": 50}, LinkSpec(bandwidth_bps=10_000_000, queue="50p")),
        ({"bw": 10, "use_tbf": True, "latency_ms": 20}, LinkSpec(bandwidth_bps=10_000_000, queue="20ms")),
        ({"bw": 10, "use_htb": True, "use_hfsc": False, "enable_red": False}, LinkSpec(bandwidth_bps=10_000_000)),
        ({"bw": 5000}, LinkSpec(bandwidth_bps=5_000_000_000)),
        ({"bw": 10, "delay": "5ms", "queue": "1bdp"}, LinkSpec(bandwidth_bps=10_000_000, delay_s=0.005, queue="1bdp")),
    ],
)
def test_options_mean_what_tc_would_do(options, spec):
    assert link_spec(options) == spec


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"enable_ecn": True}, "enable_ecn is not emulated"),
        ({"enable_red": True}, "enable_red is not emulated"),
        ({"speedup": 100}, "speedup is not emulated"),
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
