"""Transfers as they are typed, on links that every machine can carry: one cell of each kind; and what is no result."""

import time
from types import SimpleNamespace

import pytest

from experiments import fidelity
from flightpath.errors import MeasurementFailed
from results.records import Cell
from scenarios.dtn import cross_traffic
from scenarios.dtn.cross_traffic import CROSS
from scenarios.multipath.transfers import Transfers
from tests.support.scenario_runs import measured_cells
from topologies.dtn_pair import DtnPair
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed
from topologies.testbed.tunnel import Tunnel

pytestmark = pytest.mark.virtual


def test_both_tools_find_what_the_window_allows(tmp_path):
    results = measured_cells("dtn_window", tmp_path, "--seconds", "3", "--only", "window_kib=128")
    assert {cell["parameters"]["tool"] for cell in results} == {"preflight", "iperf3"}
    rates = [cell["metrics"]["goodput"]["value"] for cell in results]
    assert max(rates) < 1.1 * min(rates)
    # Equation 2 of the paper, 128 KiB / 30 ms, with a window that is about as large as the buffer.
    assert 0.7 <= min(rates) / (128 * 1024 * 8 / 0.030) <= 1.7


def test_the_kernel_sizes_the_buffer_if_nobody_does(tmp_path):
    only = ("--only", "size_mb=20", "--only", "buffer_kib=default", "--link", "200Mbit,5ms,1bdp", "--repeat", "1")
    (cell,) = measured_cells("dtn_buffers", tmp_path, *only)
    assert 100e6 < cell["metrics"]["goodput"]["value"] < 195e6


def beside_traffic(repetition: int) -> SimpleNamespace:
    """Output of a run about a cell with cross traffic."""
    return SimpleNamespace(plan=SimpleNamespace(seed=1), cell=Cell({"traffic": CROSS}, repetition))


def test_each_repetition_meets_the_traffic_in_a_phase_of_its_own():
    phases = [cross_traffic._phase_s(beside_traffic(repetition)) for repetition in range(1, 9)]
    assert phases == [cross_traffic._phase_s(beside_traffic(repetition)) for repetition in range(1, 9)]
    assert min(phases) < 1.0 and max(phases) > 4.0


@pytest.mark.in_sandbox
def test_cross_traffic_has_its_share_before_anything_is_measured(tmp_path):
    with Testbed(DtnPair(link="bw=50 delay=30ms", cross_traffic=1)) as testbed:
        run = SimpleNamespace(**vars(beside_traffic(1)), testbed=testbed, folder=tmp_path)
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


LINK = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.001)


def test_mptcp_and_tunnels_of_any_family_add_up_two_paths(tmp_path):
    names = ("baseline4", "tun4_path6", "mptcp6")
    only = [word for name in names for word in ("--only", f"configuration={name}")]
    shape = ("--link", "20Mbit,1ms,100p", "--seconds", "2", "--size", "5", "--only", "paths=2")
    results = {
        cell["parameters"]["configuration"]: {name: metric["value"] for name, metric in cell["metrics"].items()}
        for cell in measured_cells("multipath_10gbe", tmp_path, *only, *shape)
    }
    assert set(results) == set(names)
    for name, metrics in results.items():
        paths = 1 if name == "baseline4" else 2
        assert 0.8 * paths * 20e6 < metrics["goodput"] < paths * 20e6
        assert 0.7 * paths * 20e6 < metrics["ftp_goodput"] < paths * 20e6
        assert metrics["ftp_download"] == pytest.approx(8 * 5e6 / metrics["ftp_goodput"])
        assert 40 < metrics["share_path1"] < 60 or paths == 1
    full_packets = 40e6 * (1500 - 40 - 60) / 1514  # whatever the receiver held back before and after
    assert results["mptcp6"]["goodput"] == pytest.approx(full_packets, rel=0.005)


@pytest.mark.in_sandbox
def test_what_was_not_on_all_paths_or_not_mptcp_is_no_result():
    with Testbed(MultipathPair(paths=2, links=LINK, mptcp=False, congestion_control="reno")) as testbed:
        client, server = testbed.net.hosts
        with fidelity.Watch(testbed) as watch, Tunnel(client, server) as tunnel:
            tunnel.set_path(1, enabled=False)
            transfers = Transfers(testbed, watch, TEMPORARY, tunnel, family=4, kind="tun")
            transfers.iperf3(1, 0)
            with pytest.raises(MeasurementFailed, match="path2 carried only"):
                transfers.prove(all_paths=True)
            transfers.prove(all_paths=False)
            with pytest.raises(MeasurementFailed, match="--size"):
                transfers.ftp(1 << 60)
        with fidelity.Watch(testbed) as watch:
            plain = Transfers(testbed, watch, TEMPORARY, None, family=6, kind="mptcp")
            plain.iperf3(1, 0)
            with pytest.raises(MeasurementFailed, match=r"joined|fell back|carried only"):
                plain.prove(all_paths=True)
            server.congestion_control = "cubic"
            with pytest.raises(MeasurementFailed, match=r"connections used reno.* instead of cubic"):
                plain.iperf3(1, 0)
