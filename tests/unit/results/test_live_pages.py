"""Page of a run that goes on: whether it really does, its links by their hosts, and their load."""

import json
import platform
from dataclasses import replace

import pytest

from execution.progress import _loads
from probes.counters.sampling import CounterLog, WatchedLink
from results.dashboard.app import application
from results.exchange.progress import NETWORKS, LinkLoad
from results.figures.network import Load, live_network
from results.pages.content import series_rows
from results.pages.explored import series_chart, thinned
from results.records import Certificate, RunStatus, Series, Verdict
from results.store.run_list import with_actual_status
from results.store.run_lock import RunLock
from results.store.store import DEFAULT_FOLDER
from results.summary.runs import status_text
from tests.support.asking_pages import asked
from tests.support.stored_runs import simple
from topologies.mininet import live


def test_a_run_is_running_only_while_its_process_holds_its_lock(store):
    run_id = store.begin_run("dtn_window", {}, {"host": platform.node()}, ["python"])
    folder = store.artifacts(run_id)
    lock = RunLock.take(folder)
    alive = with_actual_status(store, store.run(run_id))
    assert alive.status is RunStatus.RUNNING and status_text(alive) == "running"
    lock.release()
    killed = with_actual_status(store, store.run(run_id))
    assert killed.status is RunStatus.INTERRUPTED and status_text(killed) == "interrupted"
    assert store.run(run_id).status is RunStatus.RUNNING, "looking changes nothing"
    assert RunLock.take(folder) is not None, "looking holds nothing"


def test_the_live_network_has_each_link_s_load():
    """Two links carry 25 and 50 Mbit/s from a to b, of 50 Mbit/s and of no limit."""
    links = {
        "h1_a": WatchedLink("h1-eth0:s1-eth1", (50e6, 50e6)),
        "s1-eth2:h2-eth0": WatchedLink("s1-eth2:h2-eth0", (None, None)),
    }
    names = [f"{name}.{way}" for name in links for way in ("a_to_b", "b_to_a")]
    rates = dict(zip(names, (25e6, 5e6, 50e6, 1e6), strict=True))
    rows = [
        {name: rate / 8 * at for name, rate in rates.items()} | {"cpu_idle": at, "cpu_total": at} for at in range(4)
    ]
    drawing = live_network(list(_loads(CounterLog(times_s=[0.0, 1.0, 2.0, 3.0], rows=rows, links=links))))
    assert {node.name: node.is_host for node in drawing.nodes} == {"h1": True, "s1": False, "h2": True}
    assert {link.name: link.load for link in drawing.links} == {
        "h1_a": Load(0.5, "50 %"),
        "s1-eth2:h2-eth0": Load(None, "50Mbit"),
    }
    assert live_network([]) is None, "nothing is known yet"
    assert live_network([LinkLoad(name="x", interfaces="strange", rate_bps=(1, 1), limit_bps=(None, None))]) is None


def test_what_is_measured_now_has_a_chart_and_its_numbers():
    series = {"goodput": Series("bit/s", (0.0, 1.0, 2.0), (1e6, 4e6, 1e6)), "none": Series("s", (), ())}
    assert series_rows(series) == [("goodput", "Mbit/s", ["1", "1", "2", "4"])]
    (panel,) = series_chart(series).panels
    assert (panel.y_label, list(panel.traces[0].x), list(panel.traces[0].y)) == ("(Mbit/s)", [0, 1, 2], [1, 4, 1])
    assert series_chart({"none": series["none"]}) is None
    times, values = thinned(Series("s", tuple(map(float, range(2500))), (1.0, 3.0) * 1250))
    assert len(times) == 833 and values[:2] == pytest.approx([5 / 3, 7 / 3])


REPORT = {
    "command": "mn --topo <single>",
    "told_at": "2026-11-26T16:00:00+00:00",
    "hosts": ["alice"],
    "links": [{"name": "l", "interfaces": "alice-eth0:s1-eth1", "rate_bps": [5e6, 0], "limit_bps": [1e7, None]}],
    "series": {"alice": {"unit": "bit/s", "times_s": [0, 1], "values": [1, 5e6]}},
}


def test_networks_of_mn_are_shown_while_their_process_lives(store):
    dashboard, folder = application(store, lambda *_: [], lambda *_: []), store.folder / NETWORKS
    folder.mkdir()
    for name, report in (("1", REPORT), ("2", {**REPORT, "links": [3]})):
        (folder / f"{name}.json").write_text(json.dumps(report))
    locks = [RunLock.take(folder, f"{name}.lock") for name in "12"]
    assert b"/networks" in asked(dashboard, "/")[1]
    page = asked(dashboard, "/networks")[1].decode()
    for lock in locks:
        lock.release()
    assert b"/networks" not in asked(dashboard, "/")[1], "their processes have ended"
    assert "mn --topo &lt;single&gt;" in page and page.count('class="network"') == 1, "what cannot be read is left out"
    assert '<rect class="node"' in page and ">alice</text>" in page and ">5Mbit</text>" in page
    assert live.STORE == DEFAULT_FOLDER and live.FOLDER == NETWORKS


@pytest.mark.parametrize(
    ("page", "is_local"),
    [
        ("http://127.0.0.1:8787/status", True),
        ("http://127.0.0.1:x@evil.example/", False),
        ("http://127.0.0.1:80@evil.example/", False),
        ("http://127.0.0.1:8787\\@evil.example/", False),
    ],
)
def test_the_page_counts_the_cells_of_each_machine_of_a_cluster(store, page, is_local):
    facts = {"host": platform.node(), "dask_page": page}
    run_id = store.begin_run("dtn_window", {}, facts, ["python"])
    for number, host in enumerate(("a", "b", "<b>", "b", None), start=1):
        found = {"worker": {"host": host, "machine": host} if host else "nonsense"}
        store.record(run_id, replace(simple(number), certificate=Certificate(Verdict.FAITHFUL, (), found)), number)
    lock = RunLock.take(store.artifacts(run_id))
    status, body = asked(application(store, lambda *_: [], lambda *_: []), f"/runs/{run_id}")
    lock.release()
    assert status == 200
    assert "Cells by machine of the cluster: &lt;b&gt; 1, a 1, b 2." in body.decode()
    assert ("Dask's own page" in body.decode(), f'href="{page}"' in body.decode()) == (is_local, is_local)
