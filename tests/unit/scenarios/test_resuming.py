"""Which stored runs may be continued, and which only after somebody has confirmed it."""

import platform

import pytest

import congestion
from experiments.plan import Plan
from flightpath.errors import UsageError
from results.records import RunStatus
from results.store.location import StoreLocation
from results.store.run_store import RunStore
from results.store.store import Store
from scenarios.command import resuming
from scenarios.command.options import request_from
from scenarios.congestion_race import NOBODY, CongestionRace
from tests.support.stored_runs import simple

HERE = {"host": platform.node()}


def plan(*algorithms: str) -> dict:
    axes = {"algorithm": algorithms, "against": (NOBODY,)}
    return Plan("quick", axes, {"given": {name: name for name in algorithms}}).as_json()


@pytest.fixture
def place(tmp_path) -> StoreLocation:
    return StoreLocation(tmp_path)


def resume(place: StoreLocation, *words: str, run: str = "latest") -> tuple[str, Plan]:
    request = request_from(CongestionRace(), ["--resume", run, *words])
    return resuming.stored_run(CongestionRace(), request.resume, place)


def test_the_latest_run_of_the_scenario_is_meant_even_without_cells(place):
    store = Store.open(place)
    store.record(store.begin_run("congestion_race", plan("cubic"), HERE, ["x"]), simple(), 0)
    mine = store.begin_run("congestion_race", plan("cubic"), HERE, ["x"])
    store.begin_run("another", {}, {}, ["x"])
    assert resume(place) == (mine, Plan.from_json(plan("cubic")))
    with pytest.raises(UsageError, match="is a run of another"):
        resume(place, run=store.runs("another")[0].run_id)


def test_a_run_that_is_still_measured_is_refused(place):
    store = RunStore.open(place)
    run_id = store.begin_run("congestion_race", plan("cubic"), HERE, ["x"])
    with pytest.raises(UsageError, match="is still being measured"):
        resume(place)
    store.finish_run(run_id, RunStatus.INTERRUPTED)
    assert resume(place)[0] == run_id


@pytest.mark.parametrize(
    ("algorithm", "environment", "message", "word"),
    [
        ("cubic", {"host": "lab7"}, "was begun on", "--on-this-machine"),
        ("cubic", {}, "was begun on", "--on-this-machine"),
        ("no_such_algorithm", HERE, "would load .*no_such_algorithm", "--load-algorithms"),
        ("/tmp/theirs.bpf.c", HERE, "would load .*/tmp/theirs.bpf.c", "--load-algorithms"),
    ],
)
def test_a_run_of_another_machine_and_what_would_be_loaded_into_the_kernel_need_a_word(
    place, algorithm, environment, message, word
):
    assert "cubic" in congestion.available()
    run_id = Store.open(place).begin_run("congestion_race", plan("cubic", algorithm), environment, ["x"])
    with pytest.raises(UsageError, match=message) as refused:
        resume(place)
    assert word in refused.value.hint
    assert resume(place, word)[0] == run_id


@pytest.mark.parametrize(
    ("stored", "message"),
    [({"form": 3}, "cannot be read"), (Plan("quick", {}).as_json(), "not one of congestion_race")],
)
def test_a_plan_that_is_not_the_scenarios_is_an_error(place, stored, message):
    Store.open(place).begin_run("congestion_race", stored, HERE, ["x"])
    with pytest.raises(UsageError, match=message):
        resume(place)
