"""The experiments with data transfer nodes as they are typed: one cell of each kind of load."""

import time
from types import SimpleNamespace

import pytest

from flightpath.errors import MeasurementFailed
from scenarios.dtn import cross_traffic
from scenarios.dtn.cross_traffic import CROSS
from tests.support.scenario_runs import measured_cells
from topologies.dtn_pair import DtnPair
from topologies.testbed.testbed import Testbed

pytestmark = pytest.mark.virtual


def test_both_tools_find_what_the_window_allows(tmp_path):
    results = measured_cells("dtn_window", tmp_path, "--seconds", "3", "--only", "window_kib=128")
    assert {cell["parameters"]["tool"] for cell in results} == {"preflight", "iperf3"}
    rates = [cell["metrics"]["goodput"]["value"] for cell in results]
    assert max(rates) < 1.1 * min(rates)
    # Equation 2 of the paper, 128 KiB / 30 ms, with a window that is about as large as the buffer.
    assert 0.7 <= min(rates) / (128 * 1024 * 8 / 0.030) <= 1.7


@pytest.mark.nightly
def test_traffic_that_crosses_the_path_of_both_tools(tmp_path):
    only = ("--full", "--only", "window_kib=2048", "--link", "100Mbit,5ms,1bdp", "--seconds", "3", "--repeat", "1")
    results = measured_cells("dtn_window", tmp_path, *only)
    goodput = {
        (cell["parameters"]["tool"], cell["parameters"]["traffic"]): cell["metrics"]["goodput"]["value"]
        for cell in results
    }
    for tool in ("preflight", "iperf3"):
        assert 5e6 < goodput[tool, "cross"] < 0.75 * goodput[tool, "isolated"]


def test_the_kernel_sizes_the_buffer_if_nobody_does(tmp_path):
    only = ("--only", "size_mb=20", "--only", "buffer_kib=default", "--link", "200Mbit,5ms,1bdp", "--repeat", "1")
    (cell,) = measured_cells("dtn_buffers", tmp_path, *only)
    assert 100e6 < cell["metrics"]["goodput"]["value"] < 195e6


@pytest.mark.in_sandbox
def test_cross_traffic_has_its_share_before_anything_is_measured(tmp_path):
    with Testbed(DtnPair(link="bw=50 delay=30ms", cross_traffic=1)) as testbed:
        run = SimpleNamespace(cell=SimpleNamespace(parameters={"traffic": CROSS}), testbed=testbed, folder=tmp_path)
        link = testbed.link("x1", 0)
        with cross_traffic.applied(run):
            before, began_s = link.stats()["directions"], time.monotonic()
            time.sleep(0.5)
            after, took_s = link.stats()["directions"], time.monotonic() - began_s
        carried = sum(after[way]["out_bytes"] - before[way]["out_bytes"] for way in after)
        assert carried * 8 / took_s > 45e6


def test_cross_traffic_that_does_not_flow_is_an_error(monkeypatch):
    monkeypatch.setattr(cross_traffic, "_RAMP_S", 0.05)
    monkeypatch.setattr(cross_traffic, "_INTERVAL_S", 0.01)
    with pytest.raises(MeasurementFailed, match="does not flow"):
        cross_traffic._await_flow(lambda: 0.0)
