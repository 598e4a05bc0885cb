"""Calibration of links, from synthetic measurements."""

from dataclasses import replace

import pytest

from topologies.calibration.frame_socket import ReceivedFrame
from topologies.calibration.links import _lateness_ms
from topologies.calibration.records import LinkCalibration
from topologies.calibration.traffic import OneWay
from topologies.links.spec import LinkSpec


def test_an_emulator_that_cannot_tell_lateness_is_judged_by_how_late_probes_came():
    calibration = LinkCalibration("h1_a", "a_to_b", 10.2, 15.2, 10.0)

    assert _lateness_ms({"lateness_ns": None}, calibration) == pytest.approx(5.0)
    assert _lateness_ms({"lateness_ns": None}, replace(calibration, delay_uncertainty_ms=1.0)) == 0
    assert _lateness_ms({"lateness_ns": {"p99": 300_000}}, calibration) == 0.3


def test_a_frame_that_was_damaged_on_the_way_is_ignored():
    arrived = [ReceivedFrame(7, position, 10, at_ns) for at_ns, position in enumerate((10, 1 << 20, 0, 11, 10))]
    way = OneWay("a_to_b", LinkSpec(), None, None, {7: arrived})

    assert [(frame.position, frame.arrived_ns) for frame in way.frames_of(7, 20, 10)] == [(0, 2), (10, 0)]
