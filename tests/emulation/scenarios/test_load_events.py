"""What changes the load of the main job or its network: events, scale, pages, hosts of JMeter."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flightpath.project import PROJECT
from results.records import Verdict
from results.store.store import Store

pytestmark = pytest.mark.virtual


def run(*arguments: str, results: Path) -> subprocess.CompletedProcess[str]:
    own = ("--machine", "here", "--results", str(results))
    argv = [sys.executable, "-m", "scenarios.mptcp_load", *own, *arguments]
    return subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, timeout=110, check=False)


def test_events_happen_during_a_load_of_several_hosts_and_are_on_record(tmp_path):
    """A black hole loses packets of one plane (s1), which MPTCP sends again; the students notice nothing."""
    events = ("1s h1->s1 blackhole=on", "1.5s h1-s1 blackhole=off", "2s h1-s2 delay=5ms")
    options = [word for event in events for word in ("--event", event)]
    words = ("--threads", "21", "--loads", "140", "--only", "protocol=mptcp", "--clients", "2", "--repeat", "1")
    done = run(*words, *options, results=tmp_path)

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
    done = run(*few, "--page-weight", "5k,50k", "--buffering", "on", "--json", results=tmp_path)
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    sizes = {cell["parameters"]["page_weight"]: cell["metrics"]["request_size"]["value"] for cell in cells}
    assert sizes["5k"] == pytest.approx(5_000, rel=0.1)
    assert sizes["50k"] == pytest.approx(50_000, rel=0.1)
    shares = {cell["parameters"]["page_weight"]: cell["metrics"]["share_path2"]["value"] for cell in cells}
    assert shares["5k"] < 10 < shares["50k"]
