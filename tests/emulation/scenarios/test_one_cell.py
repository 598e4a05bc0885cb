"""One cell of each experiment that no other test in virtual time measures: faithful, with the metrics it promises."""

import shlex

import pytest

from experiments import catalogue
from tests.support.scenario_runs import ONE_CELL, measured_cells

pytestmark = pytest.mark.virtual

SCENARIOS = (
    *("congestion_quadpath", "congestion_race", "dtn_bottleneck", "dtn_congestion", "dtn_mss", "dtn_multihomed"),
    *("dtn_streams", "vegas_thresholds"),
)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_is_measured(scenario, tmp_path):
    (cell,) = measured_cells(scenario, tmp_path, *shlex.split(ONE_CELL[scenario]))
    assert cell["verdict"] == "faithful"
    assert cell["metrics"]["goodput"]["value"] > 1e6
    assert catalogue.find(scenario).headlines[0] in cell["metrics"]
