"""Stored measurements of preflight, as another machine exported them: read, or refused, by every command of it."""

import contextlib
import functools
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from flightpath.errors import FlightpathError
from probes.preflight.__main__ import main
from probes.preflight.history.recording import DOCUMENT
from probes.preflight.measure import iperf3
from probes.preflight.records import LimitedBy, PreflightResult
from results.exchange.export import Export, export_runs, import_runs
from results.store.store import Store
from tests.fuzz.mutation import dump, vary_bytes, vary_json
from tests.fuzz.views import look_at_command
from tests.support.preflight_made_up import HOST, measurement, noisy, store_daily, upload

_REPORT = {
    "start": {"version": "iperf 3.12"},
    "end": {"sum_received": {"bits_per_second": 1e9, "seconds": 10.0}, "sum_sent": {"retransmits": 3}},
}


def made(chance: random.Random) -> bytes:
    """A measurement's JSON, or stored ones, or a report of iperf3; the first byte says which."""
    kind = chance.randrange(3)
    data = dump(_varied(chance, kind))
    return bytes([kind]) + (vary_bytes(chance, [data]) if chance.random() < 0.1 else data)


def _varied(chance: random.Random, kind: int) -> Any:
    document = vary_json(chance, (_whole, _exported, lambda: _REPORT)[kind]())
    if kind == 1 and chance.random() < 0.5 and isinstance(document.get("runs"), list):
        for run in document["runs"]:
            if isinstance(run, dict):
                run["documents"] = {DOCUMENT: json.dumps(vary_json(chance, _whole()))}
    return document


def read(data: bytes) -> None:
    kind, text = data[0] % 3 if data else 0, data[1:]
    with contextlib.suppress(FlightpathError):
        (_read_whole, _read_stored, lambda report: iperf3.parse(report.decode(errors="replace"), 10.0))[kind](text)


def _read_whole(text: bytes) -> None:
    result = PreflightResult.from_json(text.decode(errors="replace"))
    assert PreflightResult.from_json(result.to_json()) == result
    assert result.verdict in LimitedBy and isinstance((result.goodput_bps, result.rtt_ms), tuple)


def _read_stored(text: bytes) -> None:
    try:
        export = Export.model_validate_json(text)
    except ValueError:
        return
    with tempfile.TemporaryDirectory(prefix="flightpath-fuzz-") as name:
        store = Store.open(Path(name))
        run_ids = import_runs(store, [export]).added
        questions = [["history", HOST], ["history", HOST, "--json"], ["check", HOST, "--no-measure", "--upload"]]
        if len(run_ids) > 1:
            questions.append(["compare", *run_ids[:2]])
        for words in questions:
            look_at_command(store, *words, command=main, codes=range(6))


@functools.cache
def _whole() -> Any:
    return json.loads(measurement([9e8, 8e8], spec=upload()).to_json())


@functools.cache
def _exported() -> Any:
    with tempfile.TemporaryDirectory(prefix="flightpath-fuzz-") as name:
        run_ids = store_daily(Path(name), noisy(3), spec=upload())
        return export_runs(Store.open(Path(name)), run_ids).model_dump(mode="json")
