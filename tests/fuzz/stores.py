"""Stores for fuzz targets, with runs like real ones, and what an export of them holds."""

import functools
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from results.exchange.export import export_runs
from results.exchange.files import write_export
from results.exchange.progress import CellProgress
from results.records import PROGRESS_DOCUMENT, CellResult, Certificate, Claim, ClaimVerdict, Series, Verdict
from results.store.lab_checks import LabCheck, keep_check
from results.store.store import Store
from tests.support.made_up_runs import like_the_paper

_POINTS = 3
_BEFORE = {
    **{"link": "h1_a", "direction": "a_to_b", "asked": "50Mbit, 5ms", "delay_ms": 5.04, "expected_delay_ms": 5.0},
    **{"rate_bps": 4.99e7, "expected_rate_bps": 5e7, "max_frame_bytes": 6250, "unchecked": ["rate"], "not_judged": []},
}
_DURING = {
    **{"packets": 1000, "drops": {"queue": 7, "aqm": 0}, "lateness_us": {"p50": 20.0, "p99": 1500.0, "max": 9000.0}},
    **{"lateness_histogram": [0] * 5 + [75, 25], "max_frame_bytes": 6250, "cpu_percent": 4.0},
}
_EVIDENCE = {
    **{"emulator": "relay", "kernel": "6.1.0", "clock": "virtual", "scale": 0.5, "idle_cpu_percent": [80.0, 40.0]},
    "congestion_control": {"h1": "cubic"},
    "links": {"h1-a:s1-b": {"a_to_b": "50Mbit", "b_to_a": "50Mbit", "emulator": "relay"}},
    "links_before_load": [_BEFORE],
    "links_during_load": {"h1-a:s1-b": {"a_to_b": _DURING}},
    "paths_before_load": [{"source": "h1", "target": "h2", "port": 0, "rtt_ms": 20.4, "expected_rtt_ms": 20.0}],
}
_PLAN = {
    **{"form": "quick", "axes": {"protocol": ["mptcp", "tcp"], "load": [500.0]}, "settings": {"clock": "virtual"}},
    **{"repeat": 1, "seed": 1, "only": {}, "events": [], "headlines": ["run_time"], "question": "Is it faster?"},
}
_PROGRESS = CellProgress(cell="load=1 #1", fraction=0.5, doing="load", told_at="2026-11-21T10:00:00+00:00", series={})


@functools.cache
def _template() -> tempfile.TemporaryDirectory[str]:
    """A folder for as long as this process, and its store: a run that has ended, one that goes on, and two checks."""
    folder = tempfile.TemporaryDirectory(prefix="flightpath-fuzz-")
    store = Store.open(Path(folder.name) / "store")
    for scenario, status in (("mptcp_load", "done"), ("preflight", None)):
        plan = {**_PLAN, "host": "dtn.example"} if scenario == "preflight" else _PLAN
        run_id = store.begin_run(scenario, plan, {"host": "lab1", "kernel": "6.1.0", "root": "real"}, ["python", "x y"])
        for order, result in enumerate(like_the_paper(1, (500.0,))):
            store.record(run_id, _short(result), order)
        store.record_claims(run_id, [Claim("it is faster", "> 10 %", "12 %", ClaimVerdict.REPRODUCED, "of 2 cells")])
        store.keep_document(run_id, PROGRESS_DOCUMENT, _PROGRESS.model_dump_json())
        if status:
            store.finish_run(run_id, status)
    for student, points, hints in (("anna", 4, ()), ("ben", 1, ("how long?",))):
        keep_check(store, LabCheck(2, "Fill the pipe", student, "2026", points, 4, hints))
    return folder


@contextmanager
def seeded() -> Iterator[Store]:
    """A store of the same runs, made by copying; the folder above it is the caller's for the time of the block."""
    with tempfile.TemporaryDirectory(prefix="flightpath-fuzz-") as name:
        yield Store.open(Path(shutil.copytree(Path(_template().name) / "store", Path(name) / "store")))


@functools.cache
def exported() -> dict[str, Any]:
    """Content of an export of such runs, under other names."""
    with seeded() as store:
        target = store.folder.with_name("export")
        write_export(export_runs(store, [run.run_id for run in store.runs()]), target, "json")
        document = json.loads(target.read_text())
    for number, run in enumerate(document["runs"]):
        run["run_id"] = f"foreign-{number}"
    return document


def _short(result: CellResult) -> CellResult:
    series = {
        name: Series(one.unit, one.times_s[:_POINTS], one.values[:_POINTS])
        for name, one in list(result.measurement.series.items())[:2]
    }
    certificate = Certificate(Verdict.DEGRADED, ("link h1_a: late",), _EVIDENCE)
    return replace(result, measurement=replace(result.measurement, series=series), certificate=certificate)
