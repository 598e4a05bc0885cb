"""`flightpath replay`: which cell is repeated, and what differs."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from execution.guest_executors import cell_request
from execution.replay import command
from execution.replay.command import difference, stored_cell, stored_plan
from experiments import catalogue
from experiments.fidelity.watch import LOAD_BEGAN
from experiments.plan import Plan
from flightpath.cli import main
from flightpath.clock import Clock
from flightpath.errors import UsageError
from flightpath.project import PROJECT
from results.records import Cell, CellResult, Certificate, Measurement, Metric, RunRecord, RunStatus, Series, Verdict
from results.store.store import Store
from scenarios.dtn_window import DtnWindow
from tests.support.plans import plan_of

PLAN = Plan("quick", {"protocol": ("tcp", "mptcp")}, executor="uml", clock=Clock.VIRTUAL, repeat=2)


def measured(cell: Cell, goodput: float = 1.5, **found: object) -> CellResult:
    series = {"goodput": Series("bit/s", (0.0,), (goodput,))}
    measurement = Measurement({"goodput": Metric(goodput, "bit/s")}, series)
    return CellResult(cell, measurement, Certificate(Verdict.FAITHFUL, found={LOAD_BEGAN: 1, **found}))


CELLS = [measured(cell) for cell in PLAN.cells()]


def test_a_cell_is_told_the_same_in_each_run_in_which_it_occurs():
    cell = Cell({"window_kib": 128, "tool": "iperf3", "traffic": "isolated"}, 2)
    alone = {name: (value,) for name, value in cell.parameters.items()}
    among_others = alone | {"window_kib": (64, 128), "traffic": ("isolated", "cross")}
    small = Plan("quick", alone, {"seconds": 2}, repeat=2)
    large = Plan("full", among_others, {"seconds": 2}, repeat=9, only={"traffic": ("isolated",)})
    assert cell in small.cells() and cell in large.cells()
    requests = [cell_request(DtnWindow(), plan, cell) for plan in (small, large)]
    assert requests[0].model_dump_json() == requests[1].model_dump_json()
    assert requests[0].cell() == cell and Plan.from_json(requests[0].plan).value(cell, "seconds") == 2


def test_a_cell_has_a_number_and_parameters_in_any_order():
    for wanted, index in ((None, 0), ("3", 2)):
        assert stored_cell(CELLS, wanted, "run") is CELLS[index]
    mptcp = Cell({"protocol": "mptcp"}, 2)
    assert stored_cell(CELLS, "#2 protocol=mptcp", "run").cell == mptcp


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ("5", r"no cell 5\n.*1 to 4"),
        ("protocol=mptpc #2", r"no cells 'protocol=mptpc #2'\n.*did you mean 'protocol=mptcp #2'"),
        ("protocol=mptcp", r"2 cells 'protocol=mptcp'\n.*one of: protocol=mptcp"),
    ],
)
def test_an_unknown_cell_is_refused_with_the_nearest(wanted, problem):
    with pytest.raises(UsageError, match=problem):
        stored_cell(CELLS, wanted, "run")


def test_a_cell_that_does_not_say_when_its_load_began_is_refused():
    with pytest.raises(UsageError, match="an earlier version"):
        stored_cell([replace(CELLS[0], certificate=Certificate(Verdict.FAITHFUL))], None, "run")


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (replace(PLAN, clock=Clock.REAL).as_json(), "on the real clock, which cannot be stopped"),
        ({"host": "example.org"}, "has no plan"),
    ],
)
def test_what_cannot_be_repeated_is_refused(plan, problem):
    record = RunRecord("r", "mptcp_load", plan, [], {}, datetime.now(UTC), None, RunStatus.DONE)
    with pytest.raises(UsageError, match=problem):
        stored_plan(record)


def test_what_differs_is_named_to_the_last_bit():
    one = measured(PLAN.cells()[0], 0.1 + 0.2)
    assert difference(one, measured(PLAN.cells()[0], 0.1 + 0.2)) == []
    assert difference(one, measured(PLAN.cells()[0], 0.3)) == [
        "goodput: 0.30000000000000004 bit/s is stored, 0.3 bit/s measured now",
        "goodput: another series",
    ]


def test_without_a_terminal_it_says_what_to_give(tmp_path, capsys):
    Store.open(tmp_path)
    assert main(["replay", "latest", "--results", str(tmp_path)]) == 2
    assert '--run "h1 ss -tin"' in capsys.readouterr().err


def test_a_run_of_an_experiment_file_is_repeated_by_what_its_plan_keeps(tmp_path, monkeypatch, capsys):
    def stopped_cell(scenario, plan, planned):
        raise UsageError(f"{type(scenario).__name__} {scenario.name}")

    monkeypatch.setattr(command, "stopped_cell", stopped_cell)
    scenario = catalogue.load(PROJECT / "experiments/files/template.toml")
    plan = replace(plan_of(scenario), executor="uml", clock=Clock.VIRTUAL)
    store = Store.open(tmp_path)
    store.record(store.begin_run("own", plan.as_json(), {}, []), measured(plan.cells()[0], 1.0), 0)
    main(["replay", "latest", "--results", str(tmp_path), "--at", "0s", "--run", "hosts"])
    assert "FileScenario own" in capsys.readouterr().err


def test_a_stored_name_runs_no_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foreign.py").write_text("raise AssertionError('the file was run')", encoding="utf-8")
    store = Store.open(tmp_path / "runs")
    run_id = store.begin_run("foreign.py", PLAN.as_json(), {}, [])
    store.record(run_id, CELLS[0], 0)
    assert main(["replay", "latest", "--results", str(tmp_path / "runs"), "--at", "0s", "--run", "hosts"]) == 2
    assert "there is no scenario 'foreign.py'" in capsys.readouterr().err
