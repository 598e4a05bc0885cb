"""Stored runs as data frames: columns, types, units; figures, and what a notebook shows."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flightpath
from flightpath.errors import UsageError
from python_api.frames import cells_frame, series_frame
from results.records import Cell, CellResult, Certificate, Claim, ClaimVerdict, Measurement, Metric, Series, Verdict
from results.store.store import RunStatus, Store
from tests.support.made_up_runs import measured
from tests.support.stored_runs import HOSTILE, begin, cell_results, hostile_run


def transfer(protocol: str, load: int, goodput: float, verdict: Verdict = Verdict.FAITHFUL) -> CellResult:
    metrics = {"goodput": Metric(goodput, "bit/s", goodput - 1, goodput + 1), "rtt": Metric(20.5, "ms")}
    if protocol == "tcp":
        del metrics["rtt"]
    series = {"goodput": Series("bit/s", (0.0, 0.5), (goodput, goodput + 2))}
    reasons = () if verdict is Verdict.FAITHFUL else ("a core was never idle", "late")
    parameters = {"protocol": protocol, "load": load, "mptcp": protocol == "mptcp", "loss": 0.1}
    return CellResult(Cell(parameters, 2), Measurement(metrics, series), Certificate(verdict, reasons))


@pytest.fixture
def run(tmp_path):
    store = Store.open(tmp_path)
    run_id = begin(store, transfer("tcp", 500, 4e7), transfer("mptcp", 800, 9e7, Verdict.DEGRADED))
    store.record_claims(run_id, [Claim("faster", "2", "1.9 ± 0.1", ClaimVerdict.REPRODUCED, "it was")])
    store.finish_run(run_id, RunStatus.DONE)
    return flightpath.load("latest", results=tmp_path)


def test_cells_are_a_row_each_with_parameters_verdict_and_metrics(run):
    cells = run.cells
    assert list(cells.index) == [1, 2] and cells.index.name == "cell"
    names = "protocol load mptcp loss repetition verdict reasons goodput goodput_low goodput_high rtt"
    kinds = "str int64 bool float64 int64 category str float64 float64 float64 float64"
    assert list(cells) == names.split() and list(map(str, cells.dtypes)) == kinds.split()
    assert list(cells.reasons) == ["", "a core was never idle; late"]
    assert list(cells.goodput) == [4e7, 9e7] and list(cells.goodput_low) == [4e7 - 1, 9e7 - 1]
    assert pd.isna(cells.rtt[1]) and cells.rtt[2] == 20.5
    assert cells.attrs["units"] == {"goodput": "bit/s", "rtt": "ms"}
    assert list(cells.query("verdict < 'degraded'").index) == [1] and run.verdict is Verdict.DEGRADED


def test_series_are_a_row_for_each_point(run):
    series = run.series
    assert list(series) == ["cell", "name", "time_s", "value"]
    assert list(map(str, series.dtypes)) == ["int64", "str", "float64", "float64"]
    assert series.values.tolist() == [
        [1, "goodput", 0.0, 4e7],
        [1, "goodput", 0.5, 4e7 + 2],
        [2, "goodput", 0.0, 9e7],
        [2, "goodput", 0.5, 9e7 + 2],
    ]
    assert series.attrs["units"] == {"goodput": "bit/s"}
    assert set(series.join(run.cells.protocol, on="cell").protocol) == {"tcp", "mptcp"}


def test_claims_are_a_row_each(run):
    assert run.claims.to_dict("records") == [
        {"claim": "faster", "paper": "2", "measured": "1.9 ± 0.1", "verdict": "reproduced", "why": "it was"}
    ]
    assert str(run.claims.verdict.dtype) == "category"


def test_a_metric_with_the_name_of_a_parameter_has_another_column():
    frame = cells_frame([measured({"rtt": 5}, rtt=6.5)])
    assert (frame.rtt[1], frame["metric.rtt"][1], frame.attrs["units"]) == (5, 6.5, {"metric.rtt": "ms"})


def test_a_run_without_cells_has_empty_frames(tmp_path):
    run_id = begin(Store.open(tmp_path))
    run = flightpath.load(run_id[:16], results=tmp_path)
    assert (run.run_id, run.status, run.ended_at) == (run_id, RunStatus.RUNNING, None)
    assert (len(run.cells), len(run.series), len(run.claims)) == (0, 0, 0)
    assert {"repetition", "verdict", "reasons"} <= set(run.cells) and str(run.cells.repetition.dtype) == "int64"
    assert run.answer == "" and run.figures() == [] and run.verdict is Verdict.UNUSABLE


@settings(max_examples=20)
@given(st.lists(cell_results, max_size=4))
def test_whatever_was_measured_has_frames(cells):
    frame, series = cells_frame(cells), series_frame(cells)
    assert len(frame) == len(cells)
    assert len(series) == sum(len(one.values) for each in cells for one in each.measurement.series.values())


def test_what_a_notebook_shows_is_text_and_never_markup(tmp_path, run):
    shown = run._repr_html_()
    assert run.run_id in shown and "1 reproduced" in shown and "degraded" in shown
    hostile = flightpath.load(hostile_run(Store.open(tmp_path / "hostile")), results=tmp_path / "hostile")
    assert "<script" not in hostile._repr_html_() and HOSTILE in set(hostile.claims.claim)


def test_what_is_not_there_is_a_usage_error(tmp_path, run):
    with pytest.raises(UsageError, match="there is no run 'yesterday'"):
        flightpath.load("yesterday", results=tmp_path)
    with pytest.raises(UsageError):
        flightpath.load(results=tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_figures_are_drawn_once(tmp_path):
    cells = [measured({"streams": 1, "mtu": mtu, "loss": "0"}, goodput=4e7) for mtu in (1500, 9000)]
    begin(Store.open(tmp_path), *cells, scenario="dtn_mss")
    run = flightpath.load(results=tmp_path)
    drawn = run.figures()
    assert drawn and all(path.suffix == ".png" and path.with_suffix(".svg").exists() for path in drawn)
    times = {path: path.stat().st_mtime_ns for path in drawn}
    assert {path: path.stat().st_mtime_ns for path in run.figures()} == times
