"""Words and values of figures have room: titles, labels of bars, values that lie close together."""

import pytest

from results.figures import style
from results.figures.bar_groups import Bar, stacked_bars
from results.figures.over_parameter import _is_crowded, places_of
from results.records import Verdict

LOOK = style.Look("one", style.BLUE)


@pytest.mark.parametrize("words", [3, 40])
def test_a_title_is_as_wide_as_the_figure_at_most_and_the_legend_is_below_it(words):
    with style.drawing():
        figure = style.new_figure(3.0, "throughput " * words, "faithful", Verdict.FAITHFUL)
        style.add_legend(figure, {"one": style.handle()})
        figure.draw_without_rendering()
        title, (legend,) = figure.texts[0].get_window_extent(), figure.legends
        assert title.x1 < figure.bbox.x1
        assert legend.get_window_extent().y1 < title.y0


def test_long_labels_of_many_bars_are_turned_and_short_ones_are_not():
    for label, turned in (("tun4_path6_plain", 20), ("tun4", 0)):
        with style.drawing():
            bars = {f"{label}{number}": [Bar([(LOOK, 1.0)])] for number in range(8)}
            figure = stacked_bars([("", bars)], [], title="x", x_label="x", y_label="y")
        assert {tick.get_rotation() for tick in figure.axes[0].get_xticklabels()} == {turned}


def test_values_that_a_linear_axis_would_put_upon_each_other_have_a_logarithmic_one():
    assert _is_crowded(places_of([8, 16, 32, 2048]))
    assert not _is_crowded(places_of([1, 2, 4, 8]))
    assert not _is_crowded(places_of([8, 16, 2048, "default"]))
    assert not _is_crowded(places_of([0, 1, 2048]))
