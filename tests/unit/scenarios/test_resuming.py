"""Stored runs that may be continued, and those only after somebody has confirmed it."""

import platform
from collections import Counter

import pytest

import congestion
from experiments.parameters import Axis, PlanRequest, Setting, at_least, comma_separated
from experiments.plan import Plan, restrictions
from flightpath.clock import Clock
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


def plan(*algorithms: str, clock: Clock = Clock.REAL) -> dict:
    axes = {"algorithm": algorithms, "against": (NOBODY,)}
    return Plan("quick", axes, {"given": {name: name for name in algorithms}}, clock=clock).as_json()


def resume(store: Store, *words: str, run: str = "latest") -> tuple[str, Plan]:
    request = request_from(CongestionRace(), ["--resume", run, *words])
    return resuming.stored_run(CongestionRace(), request.resume, StoreLocation(store.folder))


def test_the_latest_run_of_the_scenario_is_meant_even_without_cells(store):
    store.record(store.begin_run("congestion_race", plan("cubic"), HERE, ["x"]), simple(), 0)
    mine = store.begin_run("congestion_race", plan("cubic"), HERE, ["x"])
    store.begin_run("another", {}, {}, ["x"])
    assert resume(store) == (mine, Plan.from_json(plan("cubic")))
    with pytest.raises(UsageError, match="is a run of another"):
        resume(store, run=store.runs("another")[0].run_id)


def test_a_run_that_is_still_measured_is_refused(store):
    measuring = RunStore.open(store.folder)
    run_id = measuring.begin_run("congestion_race", plan("cubic"), HERE, ["x"])
    with pytest.raises(UsageError, match="is still being measured"):
        resume(store)
    measuring.finish_run(run_id, RunStatus.INTERRUPTED)
    assert resume(store)[0] == run_id


@pytest.mark.parametrize(
    ("algorithm", "host", "message", "word"),
    [
        ("cubic", {"host": "lab7"}, "was begun on lab7", "--on-this-machine"),
        ("cubic", {}, "was begun on an unknown machine", "--on-this-machine"),
        ("/tmp/theirs.bpf.c", HERE, "would load .*/tmp/theirs.bpf.c", "--load-algorithms"),
    ],
)
def test_what_another_machine_began_or_would_load_into_the_kernel_needs_a_word(store, algorithm, host, message, word):
    assert "cubic" in congestion.available()
    run_id = store.begin_run("congestion_race", plan("cubic", algorithm), host, ["x"])
    with pytest.raises(UsageError, match=rf"{message}.*\n.*{word}"):
        resume(store)
    assert resume(store, word)[0] == run_id


def test_in_virtual_time_names_need_no_word_for_no_kernel_here_gets_them_and_files_do(store):
    assert "elastic" not in congestion.available()
    run_id = store.begin_run("congestion_race", plan("elastic", clock=Clock.VIRTUAL), HERE, ["x"])
    assert resume(store)[0] == run_id
    store.begin_run("congestion_race", plan("/tmp/theirs.bpf.c", clock=Clock.VIRTUAL), HERE, ["x"])
    with pytest.raises(UsageError, match="would load"):
        resume(store)


@pytest.mark.parametrize(
    ("stored", "message"),
    [({"form": 3}, "cannot be read"), (Plan("quick", {}).as_json(), "not one of congestion_race")],
)
def test_a_plan_that_is_not_the_scenarios_is_an_error(store, stored, message):
    store.begin_run("congestion_race", stored, HERE, ["x"])
    with pytest.raises(UsageError, match=message):
        resume(store)


AXES = {"protocol": ("tcp", "mptcp"), "load": (500, 800)}
STREAMS = Axis("streams", (1, 2), (1, 2, 4, 8))
LOSS = Axis("loss", ("0", "0.01%"), option="--loss", help="of packets")
SECONDS = Setting("--seconds", "of each transfer", 4, 10, read=at_least("--seconds", 1))
SIZE = Setting("--file-size", "in MB", 40, name="size_mb")


def test_every_point_is_measured_as_often_as_asked_in_blocks_whose_order_comes_from_the_seed():
    cells = Plan("quick", AXES, repeat=3).cells()
    assert Counter(cell.repetition for cell in cells) == {1: 4, 2: 4, 3: 4}
    assert [cell.repetition for cell in cells] == sorted(cell.repetition for cell in cells)
    assert len({cell.label for cell in cells}) == 12
    orders = {tuple(cell.label for cell in Plan("quick", AXES, repeat=2, seed=seed).cells()) for seed in range(20)}
    assert len(orders) > 5
    assert Plan("quick", AXES, seed=3).cells() == Plan("quick", AXES, seed=3).cells()


@pytest.mark.parametrize("pair", ["protocol", "=tcp", "protocol=", "speed=1", "load=799"])
def test_only_refuses_what_it_does_not_know(pair):
    with pytest.raises(UsageError, match="--only"):
        Plan("quick", AXES, only=restrictions([pair]))


@pytest.mark.parametrize(("form", "streams", "seconds"), [("quick", (1, 2), 4), ("full", (1, 2, 4, 8), 10)])
def test_each_form_has_its_values_unless_the_user_gives_others(form, streams, seconds):
    request = PlanRequest(form)
    assert STREAMS.chosen(request) == streams and LOSS.chosen(request) == ("0", "0.01%")
    assert SECONDS.chosen(request) == ("seconds", seconds) and SIZE.chosen(request) == ("size_mb", 40)
    request = PlanRequest(form, {"loss": "1%, 2%", "seconds": 7, "file_size": 0})
    assert LOSS.chosen(request) == ("1%", "2%")
    assert SECONDS.chosen(request) == ("seconds", 7) and SIZE.chosen(request) == ("size_mb", 0)


def test_a_bound_refuses_what_is_no_number_and_a_list_has_no_empty_words():
    with pytest.raises(UsageError, match="--seconds: nan"):
        at_least("--seconds", 1)(float("nan"))
    assert comma_separated(" cubic,, bbr ") == ("cubic", "bbr")
