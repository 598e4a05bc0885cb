"""The scenario as it is typed: subflows on every path, two failures survived, everything in the store."""

import pytest

from tests.support.scenario_runs import measured_cells

pytestmark = pytest.mark.virtual


def test_a_cell_of_the_scenario(tmp_path):
    only = ("policy=disjoint", "protocol=mptcp", "paths=equal")
    words = [word for pair in only for word in ("--only", pair)]
    (cell,) = measured_cells("subflow_steering", tmp_path, "--seconds", "3", *words)
    metrics = {name: metric["value"] for name, metric in cell["metrics"].items()}
    assert metrics["paths_used"] == 4
    assert 60e6 < metrics["goodput"] < 4 * 20e6
    assert sum(metrics[f"share_path{n}"] for n in range(1, 5)) > 99.9
    assert 0 < metrics["silence_cut"] < 2500
    assert 0 < metrics["silence_black_hole"] < 2500
    assert metrics["goodput_cut"] > 30e6, "three paths are left"
