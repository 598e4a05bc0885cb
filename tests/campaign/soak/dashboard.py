"""The dashboard with 200 watchers of a run that grows, while others look at the other pages."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from flightpath.project import PROJECT
from results.exchange.progress import CellProgress, report_progress
from results.records import RunStatus
from results.store.location import StoreLocation
from results.store.run_store import RunStore
from tests.campaign.outcome import Outcome
from tests.campaign.soak.given_time import GivenTime
from tests.campaign.soak.memory_use import MEGABYTE, MemoryUse
from tests.support.dashboard import dashboard
from tests.support.killed import killed_at_end
from tests.support.made_up_runs import LOADS, cell
from topologies.sandbox import sandbox

WATCHERS = 200
MAX_GROWTH = 40 * MEGABYTE
SLOW_S = 30.0
"""A page that takes so long is a fault: browsers show nothing meanwhile. In given time, see `given_time.py`."""

_CELLS, _MORE_CELLS = 30, 4
"""Runs at the start, and later: a page's memory grows with them, and must not be taken for a leak."""

_UPDATE_S = 2.0
_MAX_ANSWER_S = 60.0
"""For a page about many runs: in given time."""

_WARM_SHARE = 0.5


def soak(seconds: float) -> Iterator[Outcome]:
    """Records a run for so long, while all watch."""
    sandbox.prepare_network()
    given = GivenTime()
    with tempfile.TemporaryDirectory() as name:
        location = StoreLocation(Path(name))
        store = RunStore.open(location)
        run_id = store.begin_run("mptcp_load", {"form": "full", "seed": 1}, {"kernel": "6.1"}, ["python"])
        for number in range(_CELLS):
            _record(store, run_id, number)
        with ExitStack() as stack:
            process, where = stack.enter_context(dashboard(location))
            # Another process, so that the work of all who look does not slow the run's down.
            argv = [sys.executable, "-m", "tests.campaign.soak.watchers", where, run_id, str(WATCHERS)]
            watchers = subprocess.Popen(argv, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(killed_at_end(watchers))
            watchers.stdout.readline()
            memory = MemoryUse("the dashboard", process.pid, MAX_GROWTH)
            cells = _grow(store, run_id, seconds, memory, given)
            reports, visits = json.loads(watchers.communicate()[0])
            memory.sample(is_warming=False)
            ended = process.poll()
        faults = [*_missed(reports, cells), *memory.faults(), *(fault for it in visits for fault in it["failures"])]
        if (slowest_s := max(it["slowest_s"] for it in visits)) > _MAX_ANSWER_S:
            faults.append(f"a visitor waited {slowest_s:.1f} s of given time for a page about many runs")
        if ended is not None:
            faults.append(f"the dashboard ended with exit code {ended}")
        pages = sorted(took for it in reports for took in it["pages_s"])
        states = sorted(took for it in reports for took in it["states_s"])
        visits_s = [took for it in visits for took in it["pages_s"]]
        figures = (
            f"{cells} cells, {len(pages)} pages of the run (median {pages[len(pages) // 2]:.2f} s, slowest "
            f"{pages[-1]:.2f} s), {len(states)} states (median {states[len(states) // 2] * 1e3:.0f} ms), "
            f"{len(visits_s)} other pages (slowest {max(visits_s):.2f} s), memory of {memory}, "
            f"{given.share:.0%} of the machine"
        )
        yield Outcome("soak: dashboard", f"{len(reports)} watchers", figures, faults)


def _grow(store: RunStore, run_id: str, seconds: float, memory: MemoryUse, given: GivenTime) -> int:
    """Tells the run's progress every other second, and records some cells; returns how many there are at its end.

    The run lasts so many seconds of given time: the dashboard's memory is warm after as much work on a busy machine.
    """
    begun_s, cells = given.now_s(), _CELLS
    while (passed := (given.now_s() - begun_s) / seconds) < 1:
        reported_at = datetime.now(UTC).isoformat()
        progress = CellProgress(cell="c", fraction=passed, doing="loading", told_at=reported_at, series={})
        report_progress(store, run_id, progress)
        if cells < _CELLS + _MORE_CELLS * passed:
            _record(store, run_id, cells)
            cells += 1
        time.sleep(_UPDATE_S)
        memory.sample(is_warming=passed < _WARM_SHARE)
    _record(store, run_id, cells)
    store.finish_run(run_id, RunStatus.DONE)
    return cells + 1


def _record(store: RunStore, run_id: str, number: int) -> None:
    load, repetition = LOADS[number % len(LOADS)], number // len(LOADS) + 1
    # At forty times the load a cell lasts some seconds, and its series are short.
    store.record(run_id, cell(("tcp", "mptcp")[repetition % 2], 40 * load, repetition), number)


def _missed(reports: list[dict], cells: int) -> Iterator[str]:
    """Values that watchers did not see, or were refused."""
    ended = [it for it in reports if it["status"] == str(RunStatus.DONE)]
    if len(ended) < len(reports):
        yield f"{len(reports) - len(ended)} of {len(reports)} watchers did not see the end of the run"
    if late := sum(it["seen"][-1] != cells for it in ended):
        yield f"{late} watchers saw the end without the last of {cells} cells"
    if back := sum(it["seen"] != sorted(it["seen"]) for it in reports):
        yield f"{back} watchers saw fewer cells than before"
    if failures := [failure for it in reports for failure in it["failures"]]:
        yield f"{len(failures)} requests of watchers failed, for example: {failures[0]}"
    if (slowest := max(it["slowest_s"] for it in reports)) > SLOW_S:
        yield f"a watcher waited {slowest:.1f} s of given time for an answer"
