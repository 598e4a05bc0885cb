"""What is made of a link's measurements."""

from dataclasses import replace

import pytest

from topologies.calibration.links import _lateness_ms
from topologies.calibration.records import LinkCalibration


def test_an_emulator_that_cannot_tell_lateness_is_judged_by_how_late_probes_came():
    found = LinkCalibration("h1_a", "a_to_b", 10.2, 15.2, 10.0)

    assert _lateness_ms({"lateness_ns": None}, found) == pytest.approx(5.0)
    assert _lateness_ms({"lateness_ns": None}, replace(found, delay_uncertainty_ms=1.0)) == 0
    assert _lateness_ms({"lateness_ns": {"p99": 300_000}}, found) == 0.3
