"""The charts of any scenario: what may not be believed is never drawn like the rest, and words have room."""

import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from experiments.figures import curve
from flightpath.clock import Clock
from results.figures import style
from results.figures.bar_groups import Bar, stacked_bars
from results.figures.chart import Kind
from results.figures.charts import bars, curves, looks_of
from results.figures.drawing import draw_figures
from results.figures.over_parameter import _is_crowded, places_of
from results.figures.over_time import TimePanel, lines_over_time
from results.figures.side_by_side import side_by_side
from results.pages.html_report import embedded_figure
from results.records import Cell, CellResult, Certificate, Measurement, Series, Verdict
from tests.support.made_up_runs import judged, measured, run_record
from tests.support.reading_pages import words_of

LOOK = style.Look("one", style.BLUE)
WORDS = {"title": "Goodput", "x_label": "paths", "y_label": "goodput (Mbit/s)"}


def cells(verdict: Verdict = Verdict.FAITHFUL) -> list[CellResult]:
    """Returns cells over several paths; the first repetition over two of them has this verdict."""
    made = [
        measured({"paths": paths, "kind": kind, "policy": policy}, repetition, goodput=paths * rate + repetition)
        for paths in (1, 2, 4)
        for kind, rate in (("tcp", 50e6), ("mptcp", 100e6))
        for policy in ("single", "disjoint")
        for repetition in (1, 2)
    ]
    points = [(each.cell.parameters["paths"], each.cell.repetition) for each in made]
    verdicts = [verdict if point == (2, 1) else Verdict.FAITHFUL for point in points]
    return [judged(cell, of_cell, "because") for cell, of_cell in zip(made, verdicts, strict=True)]


def words(folder: Path, figure: Figure) -> str:
    draw_figures({"figure": lambda _: figure}, [], folder)
    return words_of(folder / "figure.svg")


def test_curves_have_a_line_per_value_and_a_plot_per_panel(tmp_path):
    figure = curves(cells(), "goodput", x="paths", by="kind", panels="policy", scale=1e-6, **WORDS)
    assert [axes.get_title("left") or axes.get_title() for axes in figure.axes] == ["disjoint", "single"]
    for axes in figure.axes:
        tops = sorted(max(container[0].get_ydata()) for container in axes.containers)
        assert tops == pytest.approx([200, 400], rel=1e-6)
    said = words(tmp_path, figure)
    for text in ("mptcp", "goodput (Mbit/s)", "faithful (24 cells)"):
        assert text in said


def test_values_that_are_words_stand_right_of_the_numbers_and_off_their_line():
    rates = {"default": 9.0, 512: 1.0, 4096: 7.0}
    made = [measured({"buffer": buffer, "size": 5}, goodput=rate) for buffer, rate in rates.items()]
    (axes,) = curves(made, "goodput", x="buffer", by="size", **WORDS).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["512", "4096", "default"]
    line, word = (container[0] for container in axes.containers)
    assert list(line.get_ydata()) == [1.0, 7.0]
    assert list(word.get_ydata()) == [9.0] and word.get_linestyle() == "None"
    assert word.get_xdata()[0] > 4096


def test_bars_have_a_group_per_value_and_an_interval_each(tmp_path):
    figure = bars(cells(), "goodput", groups="paths", by="kind", scale=1e-6, level=("limit", 300), **WORDS)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "4"]
    heights = [patch.get_height() for patch in axes.patches]
    assert sorted(heights) == pytest.approx([50, 100, 100, 200, 200, 400], rel=1e-6)
    assert "limit" in words(tmp_path, figure)


def test_what_may_not_be_believed_is_left_out_of_the_means_and_says_so(tmp_path):
    spoilt = cells(Verdict.UNUSABLE)
    figure = bars(spoilt, "goodput", groups="paths", by="kind", **WORDS)
    assert "unusable: because (4 of 24 cells" in words(tmp_path, figure)
    only_spoilt = [cell for cell in spoilt if cell.certificate.verdict is Verdict.UNUSABLE]
    figure = bars(only_spoilt, "goodput", groups="paths", by="kind", **WORDS)
    assert {patch.get_alpha() for patch in figure.axes[0].patches} == {0.3}


def test_a_figure_carries_its_data_into_the_page_on_which_it_is_explored(tmp_path):
    spoilt = cells(Verdict.UNUSABLE)
    hostile = {**WORDS, "title": "</script><b>"}
    figures = {
        "curves": lambda _: curves(spoilt, "goodput", x="paths", by="kind", panels="policy", scale=1e-6, **hostile),
        "bars": lambda _: bars(spoilt, "goodput", groups="paths", by="kind", scale=1e-6, level=("limit", 300), **WORDS),
    }
    draw_figures(figures, [], tmp_path)
    embedded = embedded_figure(tmp_path / "curves.svg")
    assert "<" not in embedded.chart and "<metadata>" not in embedded.svg
    chart = json.loads(embedded.chart)
    assert (chart["title"], chart["verdict"]) == ("</script><b>", "unusable")
    assert [panel["title"] for panel in chart["panels"]] == ["disjoint", "single"]
    line, crosses, *_ = chart["panels"][1]["traces"]
    assert (line["label"], line["kind"], line["x"], crosses["kind"]) == ("mptcp", "marked", [1, 2, 4], "crosses")
    assert line["y"] == pytest.approx([100, 200, 400], rel=1e-5) and line["low"][1] is None
    assert line["cells"][2] == ["policy=single", "kind=mptcp", "paths=4"]
    assert crosses["x"] == [2] and crosses["notes"] == ["unusable"]
    (panel,) = json.loads(embedded_figure(tmp_path / "bars.svg").chart)["panels"]
    assert panel["ticks"] == [[0, "1"], [1, "2"], [2, "4"]]
    assert [trace["kind"] for trace in panel["traces"]] == ["bars", "bars", "reference"]
    assert panel["traces"][0]["cells"][0] == ["paths=1", "kind=mptcp"]


def test_curves_over_time_lead_to_their_cells():
    made = [
        CellResult(
            Cell({"load": 5}, repetition),
            Measurement(series={"rate": Series("bit/s", (0.0, 1.0), (1e6, repetition * 1e6))}),
            Certificate(verdict),
        )
        for repetition, verdict in enumerate((Verdict.FAITHFUL, Verdict.FAITHFUL, Verdict.UNUSABLE), start=1)
    ]
    panel = TimePanel("5", [curve(made, "rate", LOOK, 1e-6)], level=2.0, mark_s=0.5)
    figure = lines_over_time([panel], made, title="t", y_label="Mbit/s", level_label="limit", mark_label="end")
    (described,) = figure.chart.panels
    *lines, level = described.traces
    assert [(line.kind, *line.cells) for line in lines] == [
        (Kind.THIN, ["load=5", "#1"]),
        (Kind.THIN, ["load=5", "#2"]),
        (Kind.DOTTED, ["load=5", "#3"]),
        (Kind.LINE, ["load=5"]),
    ]
    assert lines[-1].y == [1.0, 1.5] and level.y == [2.0, 2.0] and described.marks == {"end": 0.5}


def test_looks_differ_in_more_than_colour():
    looks = list(looks_of(["a", "b", "c", "a"]).values())
    assert len(looks) == len({look.marker for look in looks}) == len({look.hatch for look in looks}) == 3


def test_runs_side_by_side_have_a_mark_each_and_name_their_clocks(tmp_path):
    few = [cell for cell in cells() if cell.cell.parameters["paths"] != 4]
    slower = [judged(c, Verdict.UNUSABLE, "because") if c.cell.parameters["paths"] == 2 else c for c in few]
    real = run_record("one", "subflow_steering", clock=Clock.REAL)
    virtual = run_record("two", "subflow_steering", clock=Clock.VIRTUAL)
    figure = side_by_side([(real, cells()), (virtual, slower)], ["goodput"])
    (axes,) = figure.axes
    assert len(axes.get_yticklabels()) == 12
    assert len(axes.containers) == 12 + 4, "points that only one run has are drawn too; unusable ones as crosses"
    said = words(tmp_path, figure)
    for text in ("real and virtual time", "one", "two, virtual time", "unusable", "Mbit/s", "4 tcp single"):
        assert text in said


@pytest.mark.parametrize("repeated", [3, 40])
def test_a_title_is_as_wide_as_the_figure_at_most_and_the_legend_is_below_it(repeated):
    with style.drawing():
        figure = style.new_figure(3.0, "throughput " * repeated, "faithful", Verdict.FAITHFUL)
        style.add_legend(figure, {"one": style.handle()})
        figure.draw_without_rendering()
        title, (legend,) = figure.texts[0].get_window_extent(), figure.legends
        assert title.x1 < figure.bbox.x1
        assert legend.get_window_extent().y1 < title.y0


@pytest.mark.parametrize(("label", "turned"), [("tun4_path6_plain", 20), ("tun4", 0)])
def test_long_labels_of_many_bars_are_turned_and_short_ones_are_not(label, turned):
    with style.drawing():
        groups = {f"{label}{number}": [Bar([(LOOK, 1.0)])] for number in range(8)}
        figure = stacked_bars([("", groups)], [], title="x", x_label="x", y_label="y")
    assert {tick.get_rotation() for tick in figure.axes[0].get_xticklabels()} == {turned}


def test_values_that_a_linear_axis_would_put_upon_each_other_have_a_logarithmic_one():
    assert _is_crowded(places_of([8, 16, 32, 2048]))
    for roomy in ([1, 2, 4, 8], [8, 16, 2048, "default"], [0, 1, 2048]):
        assert not _is_crowded(places_of(roomy))


def test_plots_side_by_side_have_one_kind_of_axis():
    values = {"few": (8, 128, 2048), "all": (8, 16, 32, 2048)}
    made = [
        measured({"window": w, "traffic": kind, "tool": "x"}, 1, goodput=1.0) for kind in values for w in values[kind]
    ]
    figure = curves(made, "goodput", x="window", by="tool", panels="traffic", **WORDS)
    assert [axes.get_xscale() for axes in figure.axes] == ["log", "log"]
