"""The live progress of a cell in the store: what it shows, and that it is gone when the run has ended."""

import json
import re
import sys
import time
from functools import partial

import pytest

from execution import progress
from execution.progress import LiveProgress
from probes.counters.sampling import CounterLog, WatchedLink
from results.exchange.progress import latest_progress, report_progress
from results.records import PROGRESS_DOCUMENT, RunStatus
from results.store.location import StoreLocation
from results.store.store import Store
from tests.support.stored_runs import begin
from tests.support.terminal import Terminal


@pytest.fixture
def store(location) -> Store:
    return Store.open(location)


def waited_for(store: Store, run_id: str, condition):
    deadline = time.monotonic() + 30
    while not ((live := latest_progress(store, run_id, RunStatus.RUNNING)) and condition(live)):
        assert time.monotonic() < deadline, live
        time.sleep(0.01)
    return live


def log(seconds: int, links: int) -> CounterLog:
    """Samples of links of which each carries as many bytes per second as its number is, from a to b."""
    times_s = [float(second) for second in range(seconds)]
    ways = {f"l{n}.{way}": rate for n in range(links) for way, rate in (("a_to_b", float(n)), ("b_to_a", 0.0))}
    rows = [{"cpu_idle": s, "cpu_total": s, **{way: rate * s for way, rate in ways.items()}} for s in times_s]
    watched = {f"l{n}": WatchedLink(f"h{n}-eth0:s1-eth{n}", (1e6, None)) for n in range(links)}
    return CounterLog(times_s, rows, links=watched)


def test_what_is_done_and_what_was_sampled_is_told_while_a_cell_is_measured(store):
    run_id = begin(store)
    with LiveProgress(partial(report_progress, store, run_id), "load=500 #1", 0.02) as running:
        live = waited_for(store, run_id, lambda live: True)
        assert (live.cell, live.fraction, live.series) == ("load=500 #1", 0.0, {})
        running.update(1.5, "12 requests")
        running.show_samples(log(seconds=2, links=2))
        live = waited_for(store, run_id, lambda live: live.series)
        assert (live.fraction, live.doing) == (1.0, "12 requests")
        assert live.series["h1 → s1 (l1)"].unit == "bit/s"
        assert (live.links[1].rate_bps, live.links[1].limit_bps) == ((8.0, 0.0), (1e6, None))
    store.finish_run(run_id, "done")
    assert store.document(run_id, PROGRESS_DOCUMENT) is None


def test_the_busiest_links_are_shown_for_two_minutes():
    courses = dict(progress._shown_series(log(seconds=300, links=9)))
    assert list(courses) == ["idle CPU", *(f"h{n} → s1 (l{n})" for n in (8, 7, 6, 5))]
    assert len(courses["h8 → s1 (l8)"].values) == 120 and set(courses["h8 → s1 (l8)"].values) == {64.0}


def test_a_store_that_fails_does_not_stop_what_is_measured(tmp_path):
    store = Store.open(StoreLocation(tmp_path))
    run_id = begin(store)
    with LiveProgress(partial(report_progress, store, run_id), "x", 0.01) as running:
        waited_for(store, run_id, lambda live: True)
        (tmp_path / "flightpath.sqlite").rename(tmp_path / "away")
        time.sleep(0.05)
        (tmp_path / "away").rename(tmp_path / "flightpath.sqlite")
        running.update(0.5, "goes on")
        waited_for(store, run_id, lambda live: live.doing == "goes on")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cell": 1}', json.dumps({"cell": "x", "fraction": 7})])
def test_what_cannot_be_understood_is_as_if_nothing_had_been_told(store, text):
    run_id = begin(store)
    store.keep_document(run_id, PROGRESS_DOCUMENT, text)
    assert latest_progress(store, run_id, RunStatus.RUNNING) is None


def test_the_line_of_a_terminal_of_80_columns_shows_share_and_time_left_beside_a_long_label(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    program = """if True:
        from execution.progress_line import ProgressLine
        label = "[/x]" + "a" * 99
        with ProgressLine("congestion_quadpath", {label: 10.0}) as line:
            line.begin(label)
            line.update(label, 0.4, "iperf3")
    """
    with Terminal([sys.executable, "-c", program]) as terminal:
        shown = terminal.read_to_end()
    assert re.search(r" 40%.* 0:0\d left.* \[/x\]a+…", shown), shown
