"""Which runs a filter leaves: by what was asked for, where and when it ran, and whether it may be believed."""

import json
from datetime import UTC, datetime

import pytest
from test_results_synthetic import cell

from flightpath.errors import UsageError
from results.__main__ import main
from results.filters import RunFilter
from results.records import Verdict
from results.store import Store

AXES = {"protocol": ["tcp", "mptcp"], "load": [500, 800]}


@pytest.fixture
def store(tmp_path) -> Store:
    store = Store.open(tmp_path / "runs")
    for number, (scenario, plan, host, verdict, status) in enumerate(
        [
            ("mptcp_load", {"axes": AXES, "settings": {"threads": 500}}, "lab1", Verdict.FAITHFUL, "done"),
            ("mptcp_load", {"axes": AXES, "only": {"load": ["800"]}}, "lab2", Verdict.UNUSABLE, "done"),
            ("preflight", {"host": "dtn.example.org"}, "laptop", Verdict.DEGRADED, "interrupted"),
            ("preflight", {"axes": "hostile", "settings": 3}, "laptop", None, "failed"),
        ],
        start=1,
    ):
        run_id = store.begin_run(scenario, plan, {"host": host}, "x", datetime(2026, 11, number, 12, tzinfo=UTC))
        if verdict:
            store.record(run_id, cell("tcp", 800.0), 0)
            store.record(run_id, cell("mptcp", 800.0, verdict=verdict), 1)
        store.finish_run(run_id, status)
    return store


def days(store, capsys, *words) -> list[int]:
    assert main(["list", "--json", "--results", str(store.folder), *words]) == 0
    return [int(run["started_at"][8:10]) for run in json.loads(capsys.readouterr().out)["runs"]]


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ([], [1, 2, 3, 4]),
        (["--scenario", "preflight"], [3, 4]),
        (["--where", "protocol=mptcp"], [1, 2]),
        (["--where", "load=500"], [1]),
        (["--where", "load=500", "--where", "load=800"], [1, 2]),
        (["--where", "load=800.0", "--where", "threads=500"], [1]),
        (["--where", "host=dtn.example.org"], [3]),
        (["--where", "settings.threads=500"], [1]),
        (["--machine", "lab*"], [1, 2]),
        (["--since", "2026-11-02", "--until", "2026-11-03"], [2, 3]),
        (["--verdict", "degraded"], [3]),
        (["--verdict", "faithful"], [1]),
        (["--status", "failed"], [4]),
        (["--status", "done", "--machine", "laptop"], []),
    ],
)
def test_a_filter_leaves_what_it_says(store, capsys, words, left):
    assert days(store, capsys, *words) == left


@pytest.mark.parametrize("wrong", [{"where": ["load"]}, {"where": ["=3"]}, {"since": "yesterday"}, {"verdict": "good"}])
def test_what_cannot_be_read_is_a_usage_error_that_says_the_form(wrong):
    with pytest.raises(UsageError) as raised:
        RunFilter.parse(wrong)
    assert raised.value.hint


def test_a_table_says_where_and_how_it_ended(store, capsys):
    assert main(["list", "--results", str(store.folder)]) == 0
    out = capsys.readouterr().out
    for words in ("lab1", "laptop", "interrupted", "unusable", "faithful"):
        assert words in out
