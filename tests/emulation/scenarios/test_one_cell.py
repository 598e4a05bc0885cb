"""Experiments as they are typed, a cell of each that no other test measures: faithful, with the metrics it promises."""

import shlex
import statistics
from pathlib import Path
from typing import Any

import pytest

from experiments import catalogue
from results.store.store import Store
from tests.support.scenario_runs import ONE_CELL, measured_cells

pytestmark = pytest.mark.virtual

SCENARIOS = (
    *("congestion_quadpath", "congestion_race", "dtn_bottleneck", "dtn_congestion", "dtn_mss", "dtn_multihomed"),
    *("dtn_streams", "transport_league", "vegas_thresholds"),
)


def values(cell: dict[str, Any]) -> dict[str, float]:
    return {name: metric["value"] for name, metric in cell["metrics"].items()}


def measured(scenario: str, folder: Path, words: str = "") -> dict[str, float]:
    """The metrics of a scenario's only cell, which is faithful."""
    (cell,) = measured_cells(scenario, folder, *shlex.split(words or ONE_CELL[scenario]))
    assert cell["verdict"] == "faithful"
    return values(cell)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_is_measured(scenario, tmp_path):
    value = measured(scenario, tmp_path)
    assert value["goodput"] > 1e6 and catalogue.find(scenario).headlines[0] in value


def test_routers_find_another_way_and_say_so_before_tcp_tries_again(tmp_path):
    value = measured("routing_convergence", tmp_path)
    assert 20 < value["silence_ping"] < 1000 < 8000, "the link is cut for 8 s"
    assert 20 < value["silence_tcp"] < 1500 and value["silence_repair"] < 1000
    assert 40 < value["rtt"] < 46, "over the first path 40 ms, over the second 44"


def test_l4s_packets_have_a_queue_of_their_own_in_which_they_are_marked(tmp_path):
    value = measured("l4s_coexistence", tmp_path)
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


@pytest.mark.nightly  # it needs `make quic`
def test_the_packets_of_prague_over_quic_are_marked_and_counted_as_those_of_tcp_are(tmp_path):
    words = "--full --only queue=dualpi2 --only flows=prague+cubic --rates 20 --rtts 10 --seconds 3 --warm-up 2"
    value = measured("l4s_coexistence", tmp_path, words)
    assert value["marked"] > 1 and value["rival_marked"] == 0 == value["dropped"]
    assert value["queue_delay_p50"] < 2 < value["rival_queue_delay_p50"]
    assert 97 < value["utilisation"] < 101, "the goodput of both adds up to what the link carries"


def test_subflows_are_steered_on_every_path_and_survive_two_failures(tmp_path):
    words = "--seconds 3 --only policy=disjoint --only protocol=mptcp --only paths=equal"
    (cell,) = measured_cells("subflow_steering", tmp_path, *words.split())
    value = values(cell)
    assert value["paths_used"] == 4
    assert 60e6 < value["goodput"] < 4 * 20e6
    assert sum(value[f"share_path{n}"] for n in range(1, 5)) > 99.9
    assert 0 < value["silence_cut"] < 2500
    assert 0 < value["silence_black_hole"] < 2500
    assert value["goodput_cut"] > 30e6, "three paths are left"


def test_events_happen_during_a_load_of_several_hosts_and_are_on_record(tmp_path):
    """A black hole loses packets of one plane (s1), which MPTCP sends again; the students notice nothing."""
    events = ("1s h1->s1 blackhole=on", "1.5s h1-s1 blackhole=off", "2s h1-s2 delay=5ms")
    words = "--threads 21 --loads 140 --only protocol=mptcp --clients 2"
    value = measured("mptcp_load", tmp_path, words + "".join(f" --event '{event}'" for event in events))

    store = Store.open(tmp_path)
    (cell,) = store.cells("latest")
    found = cell.certificate.found
    assert store.run("latest").plan["events"] == [event["event"] for event in found["events"]] == list(events)
    for event, asked_s in zip(found["events"], (1.0, 1.5, 2.0), strict=True):
        assert event["happened_at_s"] >= asked_s
    assert found["links_during_load"]["h1_a"]["a_to_b"]["drops"]["blackhole"] > 0
    assert "5ms" not in str(found["links"]), "the certificate tells the links as they were before the load"

    assert value["errors"] == value["lost_writes"] == 0
    assert value["requests"] == 21 * 20 and value["run_time_over_schedule"] < 1.02
    assert cell.measurement.metadata["jmeter"]["generators"] == ["h1", "h4"]
    first, second = (sum(cell.measurement.metadata["mptcp"]["bytes_per_path"][host].values()) for host in ("h1", "h4"))
    assert second / first == pytest.approx(10 / 11, rel=0.1)  # students: 11 and 10


@pytest.mark.nightly
def test_what_a_page_weighs_and_whether_it_is_buffered_shows_on_the_paths(tmp_path):
    words = "--threads 10 --loads 100 --only protocol=mptcp --page-weight 5k,50k --buffering on"
    cells = measured_cells("mptcp_load", tmp_path, *words.split())
    found = {cell["parameters"]["page_weight"]: values(cell) for cell in cells}
    assert found["5k"]["request_size"] == pytest.approx(5_000, rel=0.1)
    assert found["50k"]["request_size"] == pytest.approx(50_000, rel=0.1)
    assert found["5k"]["share_path2"] < 10 < found["50k"]["share_path2"]
