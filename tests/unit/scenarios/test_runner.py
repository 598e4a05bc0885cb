"""A run and its store: who uses it meanwhile, and what is made of the cells; a figure that fails does no harm."""

import contextlib
from unittest.mock import Mock

import pytest
from mininet.topo import Topo

from results.figures.charts import bars
from results.figures.drawing import LOG, Figures, draw_figures
from results.records import Measurement
from results.store.store import RunStatus, Store
from scenarios.framework import runner
from scenarios.framework.plan import Axis, Plan
from scenarios.framework.scenario import Scenario
from tests.support.stored_runs import simple

PLAN = Plan("quick", {"load": (500,)})


def _fails(cells):
    raise KeyError(f"no such metric in {len(cells)} cell")


def _goodput(cells):
    return bars(cells, "goodput", groups="load", by="load", title="Goodput", x_label="load", y_label="count")


class Experiment(Scenario):
    name = "experiment"
    summary = ""
    headlines = ("goodput",)
    axes = (Axis("load", (500,)),)
    figures = Figures(first=_fails, goodput=_goodput, nothing=lambda cells: None)

    def topology(self, cell, plan):
        return Topo()

    def load(self, run):
        return Measurement()


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.open(tmp_path)


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

    monkeypatch.setattr(runner, "LiveProgress", live_progress)
    monkeypatch.setattr(runner.sandbox, "TEMPORARY", tmp_path)
    scenario = Experiment()
    scenario.measure = lambda context: context.artifacts
    assert runner._measure(scenario, PLAN, store, run_id, PLAN.cells()[0], Mock()) == store.folder / run_id


def test_a_figure_that_fails_is_named_and_leaves_the_run_and_the_other_figures(store, run_id, capsys):
    assert runner._conclude(Experiment(), PLAN, store, run_id, [], as_object=False) == 0

    folder = store.artifacts(run_id)
    assert store.run(run_id).status is RunStatus.DONE
    assert {path.name for path in folder.iterdir()} == {"goodput.png", "goodput.svg", LOG}
    printed = capsys.readouterr()
    assert "goodput.png" in printed.out and "first" not in printed.out
    assert "the figure first cannot be drawn: KeyError('no such metric in 1 cell')" in printed.err
    assert str(folder / LOG) in printed.err and printed.err.count("warning: ") == 1
    log = (folder / LOG).read_text()
    assert log.startswith("first:\n") and "Traceback" in log and "in _fails" in log


def test_a_log_of_earlier_failures_goes_when_all_figures_are_drawn(store, run_id, tmp_path):
    folder = tmp_path / "figures"
    draw_figures(Experiment.figures, store.cells(run_id), folder)
    assert (folder / LOG).exists()
    draw_figures(Figures(goodput=_goodput), store.cells(run_id), folder)
    assert not (folder / LOG).exists()


def test_a_folder_that_cannot_be_written_is_an_error(store, run_id, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        draw_figures(Experiment.figures, store.cells(run_id), tmp_path / "file" / "figures")
