"""The experiments on several paths as they are typed, on links that every machine can carry; and what is no result."""

from pathlib import Path
from typing import Any

import pytest

from experiments import fidelity
from flightpath.errors import MeasurementFailed
from scenarios.multipath.transfers import Transfers
from tests.support.scenario_runs import measured_cells
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed
from topologies.testbed.tunnel import Tunnel

LINK = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.001)
pytestmark = pytest.mark.virtual


def cells(scenario: str, folder: Path, *words: str) -> list[dict[str, Any]]:
    """Measures as `measured_cells`; each metric is its value."""
    results = measured_cells(scenario, folder, *words)
    for cell in results:
        cell["metrics"] = {name: metric["value"] for name, metric in cell["metrics"].items()}
    return results


def test_mptcp_and_tunnels_of_any_family_add_up_two_paths(tmp_path):
    names = ("baseline4", "tun4_path6", "mptcp6")
    only = [word for name in names for word in ("--only", f"configuration={name}")]
    shape = ("--link", "20Mbit,1ms,100p", "--seconds", "2", "--size", "5", "--only", "paths=2")
    results = {cell["parameters"]["configuration"]: cell for cell in cells("multipath_10gbe", tmp_path, *only, *shape)}
    assert set(results) == set(names)
    for name, cell in results.items():
        metrics, paths = cell["metrics"], 1 if name == "baseline4" else 2
        assert 0.8 * paths * 20e6 < metrics["goodput"] < paths * 20e6
        assert 0.7 * paths * 20e6 < metrics["ftp_goodput"] < paths * 20e6
        assert metrics["ftp_download"] == pytest.approx(8 * 5e6 / metrics["ftp_goodput"])
        assert 40 < metrics["share_path1"] < 60 or paths == 1
    full_packets = 40e6 * (1500 - 40 - 60) / 1514  # whatever the receiver held back before and after
    assert results["mptcp6"]["metrics"]["goodput"] == pytest.approx(full_packets, rel=0.005)


@pytest.mark.nightly
def test_a_tunnel_without_its_buffer_breaks_over_unequal_delays(tmp_path):
    only = ("--only", "paths=delay", "--only", "transport=round robin", "--only", "transport=no reordering")
    results = {cell["parameters"]["transport"]: cell for cell in cells("multipath_unequal", tmp_path, *only)}
    with_buffer, without = (results[name]["metrics"]["share_of_sum"] for name in ("round robin", "no reordering"))
    assert with_buffer > 2 * without
    assert not any(name.startswith("ftp_") for name in results["round robin"]["metrics"])


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
