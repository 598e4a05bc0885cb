"""A run and its store: who uses it meanwhile, and what is made of the cells; a figure that fails does no harm."""

import contextlib
import shlex
from dataclasses import replace
from functools import partial
from unittest.mock import Mock

import pytest
from matplotlib.figure import Figure
from mininet.topo import Topo

from execution import executor, placement
from execution.execution import Execution, RunRequest
from execution.executor import LocalExecutor, PlannedCell, RunContext
from experiments.parameters import Axis
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock
from flightpath.errors import MeasurementFailed, MissingCapability, UntrustworthyResult, UsageError
from results.figures.drawing import LOG, Figures, draw_figures
from results.records import CellResult, Certificate, Measurement, Metric, Verdict
from results.store.store import RunStatus
from scenarios.command import runner
from scenarios.command.options import request_from
from scenarios.l4s_coexistence import L4sCoexistence
from scenarios.mptcp_load import MptcpLoad
from tests.support.stored_runs import simple
from topologies.links.events import parse_events

PLAN = Plan("quick", {"load": (500,)})


def _fails(cells):
    raise KeyError(f"no such metric in {len(cells)} cell")


FIGURES = Figures(first=_fails, second=lambda cells: Figure(), third=lambda cells: None)


class Experiment(Scenario):
    name = "experiment"
    summary = ""
    headlines = ("goodput",)
    axes = (Axis("load", (500,)),)

    def topology(self, cell, plan):
        return Topo()

    def load(self, run):
        return Measurement()

    def demand(self, cell, plan):
        return cell.parameters["load"]


@pytest.fixture
def run_id(store) -> str:
    run_id = store.begin_run("experiment", PLAN.as_json(), {}, ["x"])
    store.record(run_id, simple(goodput=3.0), 0)
    return run_id


def test_nothing_but_the_live_progress_uses_the_store_while_a_cell_is_measured(store, run_id, tmp_path, monkeypatch):
    """The run has one connection to a server, and can make no second one in its network namespace."""

    @contextlib.contextmanager
    def live_progress(used, *arguments):
        with monkeypatch.context() as patched:
            patched.setattr(used, "_backend", None)
            yield Mock()

    monkeypatch.setattr(executor, "LiveProgress", live_progress)
    monkeypatch.setattr(executor.sandbox, "TEMPORARY", tmp_path)
    scenario = Experiment()
    scenario.measure = lambda context: context.artifacts
    run = RunContext(scenario, PLAN, store.artifacts(run_id), Mock(), store)
    with LocalExecutor().measure(run, [PlannedCell(0, PLAN.cells()[0])]) as measured:
        assert [each.result for each in measured] == [store.folder / run_id]


_LOADS = Plan("quick", {"load": (500, 800, 600)}, {"seconds": 1})
_IDLE = {"idle_cpu_percent": [50.0], "steal_percent": [0.0]}
_ENOUGH = Certificate(Verdict.FAITHFUL, (), _IDLE)
_NO_TIME = Certificate(Verdict.UNUSABLE, (), {"idle_cpu_percent": [0.0] * 9, "steal_percent": [0.0]})


class _Executor(LocalExecutor):
    """An executor that gives certificates by the number of the attempt and the load; `tried` are the attempts."""

    def __init__(self, certificate):
        self._certificate, self.tried = certificate, []

    def _measure(self, run, cell):
        self.tried.append(cell)
        certificate = self._certificate(len(self.tried), cell.parameters["load"])
        return CellResult(cell, Measurement({"goodput": Metric(1.0, "bit/s")}), certificate)


def _measured(store, on, *words, scenario=None, resumed=None):
    """Measures on an executor what some options ask for, and returns the exit code."""
    scenario = scenario or Experiment()
    request = request_from(scenario, words)
    execution = Execution(RunRequest(scenario, _LOADS, request.placement), _LOADS, on)
    return runner._measure(execution, store, resumed, request)


def _too_slow_at_first(number, load):
    return _NO_TIME if number == 2 else _ENOUGH


@pytest.mark.parametrize("own", list(Clock))
@pytest.mark.parametrize(("words", "moves"), [("", True), ("--clock {}", False), ("--machine here", False)])
def test_what_one_clock_cannot_measure_is_measured_on_the_other(monkeypatch, capsys, own, words, moves):
    class Refusing(LocalExecutor):
        def prepare(self, scenario, plan, *, shorten):
            if plan.clock is own:
                raise MissingCapability("no congestion control mine")
            return plan

    monkeypatch.setattr(placement, "executor_of", lambda plan, request: Refusing())
    monkeypatch.setattr(placement, "has_uml_kernel", lambda: True)
    scenario = Experiment()
    scenario.clock = own
    wanted = request_from(scenario, words.format(own).split()).placement
    request = RunRequest(scenario, replace(_LOADS, clock=own), wanted)
    if moves:
        assert {runner._prepared(request).plan.clock} == set(Clock) - {own}
        how = "in virtual time" if own is Clock.REAL else "on the real clock"
        assert capsys.readouterr().err == f"measuring {how}, because no congestion control mine\n"
    else:
        with pytest.raises(MissingCapability):
            Execution.prepared(request)


@pytest.mark.parametrize(
    ("certificate", "words"),
    [
        (lambda number, load: _NO_TIME, ""),
        (lambda number, load: Certificate(Verdict.UNUSABLE, ("other reasons",), _IDLE), ""),
        (_too_slow_at_first, "--clock real --scale 1"),
    ],
)
def test_what_may_not_be_scaled_or_measured_again_counts_as_it_is(store, certificate, words):
    on = _Executor(certificate)
    with pytest.raises(UntrustworthyResult):
        _measured(store, on, *words.split())
    assert on.tried == _LOADS.cells()
    (record,) = store.runs()
    assert (record.status, record.clock, len(store.cells(record.run_id))) == (RunStatus.DONE, Clock.REAL, 3)


class _Scalable(Experiment):
    def scaled(self, plan, factor):
        loads = tuple(load * factor for load in plan.axes["load"])
        return replace(plan, axes={"load": loads}, scale=factor)

    def carried(self, result):
        return 0.8


@pytest.mark.parametrize(("slow_from", "scales"), [(300, [0.3]), (60, [0.3, 0.05]), (0, [0.3, 0.05])])
def test_on_the_real_clock_a_run_is_scaled_until_the_machine_carries_it(store, monkeypatch, capsys, slow_from, scales):
    on, plans = _Executor(lambda number, load: _NO_TIME if load > slow_from else _ENOUGH), []

    def prepared(request, plan):
        plans.append(plan)
        return Execution(request, plan, on)

    monkeypatch.setattr(Execution, "prepared", staticmethod(prepared))
    if slow_from == 0:
        with pytest.raises(UntrustworthyResult, match=r"too slow at any scale(?s:.*)again with --clock virtual"):
            _measured(store, on, scenario=_Scalable())
        assert store.runs() == []
    else:
        assert _measured(store, on, scenario=_Scalable()) == 0
        (record,) = store.runs()
        assert (record.status, record.scale) == (RunStatus.DONE, scales[-1])
    assert [plan.scale for plan in plans] == scales
    printed = capsys.readouterr().err
    assert f"starting over at {scales[0]:g} of all bandwidths and loads (not with --scale 1)" in printed


def test_a_cell_for_which_the_machine_was_too_slow_is_measured_once_more(store):
    on = _Executor(_too_slow_at_first)
    assert _measured(store, on, "--clock", "real") == 0
    cells = store.cells("latest")
    assert [result.cell for result in cells] == _LOADS.cells()
    (again,) = [cell for cell in cells if "measured_again_because" in cell.certificate.found]
    assert "no idle processor time" in again.certificate.found["measured_again_because"]
    assert len(on.tried) == 4 and on.tried[1] == on.tried[3] == again.cell


def test_a_table_that_is_written_during_a_run_ends_it_and_the_run_goes_on_only_with_the_first_one(store, tmp_path):
    table = tmp_path / "table.csv"
    first = "time,loss\n0s,1%\n"
    table.write_text(first)
    scenario, tried = Experiment(), []
    scenario.link_events = lambda cell, plan: parse_events([f"0s h1-s1 table={table}"])

    def measured(number, load):
        tried.append(load)
        if len(tried) == 2:
            table.write_text(first.replace("1%", "2%"))
        return _ENOUGH

    measure = partial(_measured, store, _Executor(measured), scenario=scenario)
    with pytest.raises(UsageError, match="written during the run"):
        measure()
    run_id = store.latest("experiment").run_id
    with pytest.raises(UsageError, match="than when the run began"):
        measure(resumed=run_id)
    assert len(store.cells(run_id)) == 1 and len(tried) == 2
    table.write_text(first)
    assert measure(resumed=run_id) == 0
    assert len(store.cells(run_id)) == 3 and len(tried) == 4


def test_cells_that_are_done_in_another_order_keep_their_numbers(store):
    """A trial changes the order, and so do several cells at once."""
    on, planned = _Executor(lambda number, load: _ENOUGH), _LOADS.cells()
    _measured(store, on, scenario=_Scalable())
    heaviest = next(cell for cell in planned if cell.parameters["load"] == 800)
    assert planned[0] != heaviest
    assert on.tried == [heaviest, *(cell for cell in planned if cell != heaviest)]
    assert [result.cell for result in store.cells("latest")] == planned


@pytest.fixture
def conclude(store, run_id):
    """Judges and prints the run, as after its last cell."""
    return partial(runner._conclude, Experiment(), PLAN, store, run_id, facts={}, as_object=False)


def test_a_run_has_ended_although_its_claims_cannot_be_judged(store, run_id, conclude, monkeypatch):
    monkeypatch.setattr(runner, "check_claims", _fails)
    with pytest.raises(TypeError):
        conclude([])
    assert store.run(run_id).status is RunStatus.DONE


def test_figures_that_cannot_be_kept_are_no_error(store, run_id, conclude, monkeypatch, capsys):
    monkeypatch.setattr(Experiment, "figures", FIGURES)
    (store.artifacts(run_id) / LOG).mkdir()  # so that not even the log can be written
    assert conclude([]) == 0
    assert "figures cannot be kept" in capsys.readouterr().err


def test_a_program_reads_why_a_cell_failed_in_the_error(run_id, conclude):
    with pytest.raises(MeasurementFailed, match=rf"1 of 1 cell .* load=500 #1: gone\n.*--resume {run_id}"):
        conclude(["load=500 #1: gone"], as_object=True)


def test_a_machine_that_is_too_slow_is_an_answer_beside_the_other_clock_only(store, run_id, conclude, capsys):
    store.record(run_id, replace(simple(repetition=2), certificate=Certificate(Verdict.UNUSABLE, ["slow"])), 1)
    assert conclude([], may_be_unusable=True) == 0
    assert "unusable: slow" in capsys.readouterr().out
    with pytest.raises(UntrustworthyResult):
        conclude([])


def test_the_log_of_failures_goes_with_them_and_a_folder_that_cannot_be_made_is_an_error(store, run_id, tmp_path):
    cells = store.cells(run_id)
    for figures, fails in ((FIGURES, True), (Figures(second=FIGURES["second"]), False)):
        assert [path.stem for path in draw_figures(figures, cells, tmp_path)] == ["second", "second"]
        assert (tmp_path / LOG).exists() is fails
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        draw_figures(FIGURES, cells, tmp_path / "file" / "figures")


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        ("--bandwidth 50", 2, "bandwidth: cannot read '50'"),
        ("--bandwidth 1Mbit,2Mbit,3Mbit", 2, "3 values for 2 planes"),
        ("--loads 0", 2, "--loads: cannot read '0'"),
        ("--loads 2 --clients 3", 2, "3 hosts for 1 student"),
        ("--page-weight 1k", 2, "--page-weight: a page has at least"),
        ("--buffering of", 2, "did you mean 'off'"),
        ("--receive-buffer some", 2, "cannot read"),
        ("--scheduler blast", 2, "--scheduler: 'blast' is unknown"),
        ("--scheduler roundrobin", 3, "this kernel has no MPTCP scheduler 'roundrobin'"),
        ("--stale-loss-cnt few", 2, "--stale-loss-cnt: 'few' is not a whole number"),
        ("--policy ecmp", 2, "add --topology fabric"),
        ("--scale 0", 2, "--scale: 0 is not possible"),
        ("--capture h9", 2, "--capture: there is no 'h9'"),
        ("--resume nothing", 2, "there is no"),
        ("--response-timeout 0", 2, "--response-timeout"),
        ("--event '1s nowhere down'", 2, "nowhere"),
        ("--congestion-control no_such_algorithm", 3, "no_such_algorithm"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence_and_makes_nothing(tmp_path, capsys, words, code, reason):
    results = tmp_path / "results"
    for dry_run in ([], ["--dry-run"]):
        with pytest.raises(SystemExit) as ended:
            runner.main(MptcpLoad(), [*shlex.split(words), *dry_run, "--clock", "real", "--results", str(results)])
        told = capsys.readouterr()
        assert ended.value.code == code and told.err.startswith("error: ") and reason in told.err
        # A plan that makes sense is told, since another machine may have what this one lacks.
        assert ("cells, about" in told.out) == (code == 3 and bool(dry_run))
        assert not results.exists()


def test_a_queue_that_no_emulator_of_this_kernel_has_is_refused_with_the_clock_that_has_it(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        options = ["--clock", "real", "--emulator", "relay", "--results", str(tmp_path / "results")]
        runner.main(L4sCoexistence(), options)
    assert ended.value.code == 3
    assert "no queue discipline" in (output := capsys.readouterr().err) and "--clock virtual" in output
