"""The lines of `mn> certify`."""

import pytest

from topologies.calibration.records import LinkCalibration
from topologies.mininet.certifying import certified


def measured(**fields) -> LinkCalibration:
    usual = {"delay_ms": 5.1, "delay_p99_ms": 5.2, "expected_delay_ms": 5.0}
    return LinkCalibration("h1-eth0:s1-eth1", "b_to_a", **{**usual, **fields})


@pytest.mark.parametrize(
    ("fields", "line", "is_right"),
    [
        ({}, "s1-eth1->h1-eth0: 5.10 of 5 ms: as asked", True),
        ({"delay_ms": 5.4}, "s1-eth1->h1-eth0: 5.40 of 5 ms: NOT as asked", False),
        ({"delay_ms": 5.4, "delay_uncertainty_ms": 0.2}, "s1-eth1->h1-eth0: 5.40 of 5 ms: as asked", True),
        (
            {"rate_bps": 9.5e6, "expected_rate_bps": 1e7},
            "s1-eth1->h1-eth0: 9.5 of 10Mbit, 5.10 of 5 ms: NOT as asked",
            False,
        ),
        ({"unchecked": ("rate: too busy",)}, "s1-eth1->h1-eth0: 5.10 of 5 ms; rate: too busy: NOT as asked", False),
        ({"not_judged": ("rate: a trace",)}, "s1-eth1->h1-eth0: 5.10 of 5 ms; rate: a trace: as asked", True),
    ],
)
def test_a_link_is_told_beside_what_was_asked(fields, line, is_right):
    assert certified(measured(**fields)) == (line, is_right)
