"""Multi-homed data transfer nodes, whose connections and subflows a controller places: one cell of each transport."""

import pytest

from tests.support.scenario_runs import measured_cells

pytestmark = [pytest.mark.virtual, pytest.mark.nightly]


def test_streams_and_subflows_of_multihomed_nodes_use_both_paths(tmp_path):
    only = ("--full", "--only", "paths=two", "--only", "size_mb=50")
    results = measured_cells("dtn_multihomed", tmp_path, *only)
    share = {cell["parameters"]["transport"]: cell["metrics"]["share_of_sum"]["value"] for cell in results}
    assert 30 < share["one TCP stream"] < 51
    assert min(share["TCP streams"], share["MPTCP subflows"]) > 60, "two paths carry more than one"
    assert all(cell["metrics"]["download"]["value"] > 0.8 for cell in results), "50 MB over 500 Mb/s"
