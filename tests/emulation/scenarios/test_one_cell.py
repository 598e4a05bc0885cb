"""One cell of each experiment that no other test in virtual time measures: faithful, with the metrics it promises."""

import shlex
import statistics

import pytest

from experiments import catalogue
from results.store.store import Store
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


def test_l4s_packets_have_a_queue_of_their_own_in_which_they_are_marked(tmp_path):
    (cell,) = measured_cells("l4s_coexistence", tmp_path, *shlex.split(ONE_CELL["l4s_coexistence"]))
    assert cell["verdict"] == "faithful"
    value = {name: metric["value"] for name, metric in cell["metrics"].items()}
    assert value["marked"] > 1 and value["rival_marked"] == 0 and value["dropped"] == 0 < value["rival_dropped"]
    assert value["queue_delay_p50"] < 2 < value["rival_queue_delay_p50"]
    (result,) = Store.open(tmp_path).cells("latest")
    links = result.certificate.found["links_during_load"].values()
    ways = [way for link in links for way in link.values() if "dualpi2" in way]
    busy = max(ways, key=lambda way: way["bytes"])["dualpi2"]
    assert busy["ecn_mark"] > 0 and busy["packets_in_l"] > 1000 and busy["packets_in_c"] > 1000
    # The kernel's own readings: of the packet at the head, which has waited as long as those before it at most.
    heads = result.measurement.series["c_queue_head"].values
    assert statistics.fmean(heads) == pytest.approx(value["rival_queue_delay_mean"], rel=0.25)
