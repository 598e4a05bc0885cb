"""Runs that a filter leaves: by what was asked for, where and when it ran, and whether it may be believed."""

import json
from datetime import UTC, datetime

import pytest

from flightpath.errors import UsageError
from results.records import Verdict
from results.store.filters import RunFilter
from results.store.run_list import find_runs, pages
from results.store.store import Store
from tests.support.made_up_runs import cell

AXES = {"protocol": ["tcp", "mptcp"], "load": [500, 800]}


@pytest.fixture
def store(location) -> Store:
    store = Store.open(location)
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


def days(listed) -> list[int]:
    """Days on which the runs of a list in JSON began."""
    return [int(run["started_at"][8:10]) for run in json.loads(listed.out)["runs"]]


LEFT = {
    "": [1, 2, 3, 4],
    "--scenario preflight": [3, 4],
    "--where load=500": [1],
    "--where load=500 --where load=800": [1, 2],
    "--where load=800.0 --where threads=500": [1],
    "--where host=dtn.example.org": [3],
    "--where settings.threads=500": [1],
    "--machine lab*": [1, 2],
    "--machine lab?": [1, 2],
    "--machine la%*": [],
    "--until 9999-12-31": [1, 2, 3, 4],
    "--since 2026-11-02 --until 2026-11-03": [2, 3],
    "--verdict degraded": [3],
    "--verdict faithful": [1],
    "--status failed": [4],
    "--status done --machine laptop": [],
}


def test_a_filter_leaves_what_it_says(location, store, told):
    assert {words: days(told(location, "list", "--json", *words.split())) for words in LEFT} == LEFT


@pytest.mark.parametrize("wrong", [{"where": ["load"]}, {"where": ["=3"]}, {"since": "yesterday"}, {"verdict": "good"}])
def test_what_cannot_be_read_is_a_usage_error_that_says_the_form(wrong):
    with pytest.raises(UsageError) as raised:
        RunFilter.parse(wrong)
    assert raised.value.hint


def test_a_table_says_where_runs_were_made_and_how_they_ended(location, store, told):
    store.begin_run("dtn", {}, {"host": "elsewhere"}, "x")
    out = told(location, "list").out
    ids = [record.run_id for record in store.runs()]
    for words in (*ids, "lab1", "laptop", "interrupted", "unusable", "faithful", "running, or killed"):
        assert words in out


def test_a_page_has_so_many_of_the_newest_and_the_last_one_the_rest(store):
    def page(wanted, last=None, number=1):
        found = find_runs(store, RunFilter.parse(wanted), last, number)
        return found.total, [record.started_at.day for record, _ in found.runs]

    for wanted, left in (({}, [1, 2, 3, 4]), ({"machine": "laptop"}, [3, 4]), ({"where": ["load=800"]}, [1, 2])):
        assert page(wanted) == (len(left), left)
        for last in (1, 3, 10):
            count = pages(len(left), last)
            assert [day for number in range(count, 0, -1) for day in page(wanted, last, number)[1]] == left
            assert page(wanted, last, count + 5) == page(wanted, last, count)


def test_a_long_list_shows_the_newest_and_says_how_many_there_are(location, store, told):
    assert days(told(location, "list", "--json", "--last", "2")) == [3, 4]
    listed = told(location, "list", "--last", "3")
    assert "lab1" not in listed.out and "lab2" in listed.out and "newest 3 of 4 runs" in listed.err
    told(location, "list", "--last", "0", code=2)


def test_counts_of_cells_come_with_the_runs(store):
    counts = [dict(of_run) for _, of_run in find_runs(store, RunFilter(), 3).runs]
    assert counts == [{"faithful": 1, "unusable": 1}, {"faithful": 1, "degraded": 1}, {}]
    assert (store.scenarios(), store.machines()) == (["mptcp_load", "preflight"], ["lab1", "lab2", "laptop"])


def test_a_filter_that_nothing_matches_says_so_and_what_may_be_misspelt(location, store, told):
    for words, said in (
        ("--where protocl=tcp", "no run has a parameter 'protocl': did you mean 'protocol'?"),
        ("--scenario mptcp_laod", "no run of 'mptcp_laod' is stored: did you mean 'mptcp_load'?"),
        ("--where load=9", "no run matches the filters"),
    ):
        listed = told(location, "list", *words.split())
        assert said in listed.err and not listed.out, "a table without rows"
        assert said in told(location, "export", *words.split(), code=2).err
