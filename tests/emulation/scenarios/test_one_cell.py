"""Experiments as they are typed, a cell of each that no other test measures: faithful, with the metrics it promises."""

import json
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import catalogue
from results.records import Verdict
from results.store.store import Store
from tests.support.finished import finished
from tests.support.scenario_runs import ONE_CELL, measured_cells

pytestmark = pytest.mark.virtual

SCENARIOS = (
    *("congestion_quadpath", "congestion_race", "dtn_bottleneck", "dtn_congestion", "dtn_mss", "dtn_multihomed"),
    *("dtn_streams", "transport_league", "vegas_thresholds"),
)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_is_measured(scenario, tmp_path):
    (cell,) = measured_cells(scenario, tmp_path, *shlex.split(ONE_CELL[scenario]))
    assert cell["verdict"] == "faithful"
    assert cell["metrics"]["goodput"]["value"] > 1e6
    assert catalogue.find(scenario).headlines[0] in cell["metrics"]


def test_routers_find_another_way_and_say_so_before_tcp_tries_again(tmp_path):
    (cell,) = measured_cells("routing_convergence", tmp_path, *shlex.split(ONE_CELL["routing_convergence"]))
    assert cell["verdict"] == "faithful"
    value = {name: metric["value"] for name, metric in cell["metrics"].items()}
    assert 20 < value["silence_ping"] < 1000 < 8000, "the link is cut for 8 s"
    assert 20 < value["silence_tcp"] < 1500 and value["silence_repair"] < 1000
    assert 40 < value["rtt"] < 46, "over the first path 40 ms, over the second 44"


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


@pytest.mark.nightly  # it needs `make quic`
def test_the_packets_of_prague_over_quic_are_marked_and_counted_as_those_of_tcp_are(tmp_path):
    words = "--full --only queue=dualpi2 --only flows=prague+cubic --rates 20 --rtts 10 --seconds 3 --warm-up 2"
    (cell,) = measured_cells("l4s_coexistence", tmp_path, *words.split())
    assert cell["verdict"] == "faithful"
    value = {name: metric["value"] for name, metric in cell["metrics"].items()}
    assert value["marked"] > 1 and value["rival_marked"] == 0 == value["dropped"]
    assert value["queue_delay_p50"] < 2 < value["rival_queue_delay_p50"]
    assert 97 < value["utilisation"] < 101, "the goodput of both adds up to what the link carries"


def test_subflows_are_steered_on_every_path_and_survive_two_failures(tmp_path):
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


def run_load(*arguments: str, results: Path) -> subprocess.CompletedProcess[str]:
    own = ("--machine", "here", "--results", str(results))
    argv = [sys.executable, "-m", "scenarios.mptcp_load", *own, *arguments]
    return finished(argv, timeout=110)


def test_events_happen_during_a_load_of_several_hosts_and_are_on_record(tmp_path):
    """A black hole loses packets of one plane (s1), which MPTCP sends again; the students notice nothing."""
    events = ("1s h1->s1 blackhole=on", "1.5s h1-s1 blackhole=off", "2s h1-s2 delay=5ms")
    options = [word for event in events for word in ("--event", event)]
    words = ("--threads", "21", "--loads", "140", "--only", "protocol=mptcp", "--clients", "2", "--repeat", "1")
    done = run_load(*words, *options, results=tmp_path)

    assert done.returncode == 0, done.stderr
    store = Store.open(tmp_path)
    record = store.run("latest")
    assert record.plan["events"] == ["1s h1->s1 blackhole=on", "1.5s h1-s1 blackhole=off", "2s h1-s2 delay=5ms"]
    (cell,) = store.cells(record.run_id)
    found = cell.certificate.found
    assert [event["event"] for event in found["events"]] == record.plan["events"]
    for event, asked_s in zip(found["events"], (1.0, 1.5, 2.0), strict=True):
        assert event["happened_at_s"] >= asked_s
    assert found["links_during_load"]["h1_a"]["a_to_b"]["drops"]["blackhole"] > 0
    assert "5ms" not in str(found["links"]), "the certificate tells the links as they were before the load"

    metrics = {name: metric.value for name, metric in cell.measurement.metrics.items()}
    assert cell.certificate.verdict is Verdict.FAITHFUL and metrics["errors"] == metrics["lost_writes"] == 0
    assert metrics["requests"] == 21 * 20 and metrics["run_time_over_schedule"] < 1.02
    assert cell.measurement.metadata["jmeter"]["generators"] == ["h1", "h4"]
    first, second = (sum(cell.measurement.metadata["mptcp"]["bytes_per_path"][host].values()) for host in ("h1", "h4"))
    assert second / first == pytest.approx(10 / 11, rel=0.1)  # students: 11 and 10


@pytest.mark.nightly
def test_what_a_page_weighs_and_whether_it_is_buffered_shows_on_the_paths(tmp_path):
    few = ("--threads", "10", "--loads", "100", "--repeat", "1", "--only", "protocol=mptcp")
    done = run_load(*few, "--page-weight", "5k,50k", "--buffering", "on", "--json", results=tmp_path)
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    sizes = {cell["parameters"]["page_weight"]: cell["metrics"]["request_size"]["value"] for cell in cells}
    assert sizes["5k"] == pytest.approx(5_000, rel=0.1)
    assert sizes["50k"] == pytest.approx(50_000, rel=0.1)
    shares = {cell["parameters"]["page_weight"]: cell["metrics"]["share_path2"]["value"] for cell in cells}
    assert shares["5k"] < 10 < shares["50k"]
