"""Statistics against scipy and against values worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from results.records import Verdict
from results.statistics.estimates import (
    Estimate,
    growth_of_pairs,
    growth_percent,
    mean,
    median,
    ratio_of_means,
    summarise,
)
from tests.support.made_up_runs import cell, judged

samples = st.lists(st.floats(1, 1e6), min_size=2, max_size=20)


@given(samples)
def test_mean_agrees_with_scipy(values):
    estimate = mean(values)
    if len(set(values)) > 1:
        low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert (estimate.low, estimate.high) == pytest.approx((low, high), rel=1e-6, abs=1e-6)
    assert estimate.low <= estimate.value <= estimate.high
    assert (estimate.value, estimate.count) == (pytest.approx(np.mean(values)), len(values))


@pytest.mark.parametrize(
    "estimate", [mean([5.0]), median([1.0, 2.0, 3.0, 4.0, 5.0]), ratio_of_means([5.0], [1.0, 2.0])]
)
def test_too_few_values_have_no_interval(estimate):
    assert (estimate.low, estimate.high, estimate.half_width) == (None, None, None)
    assert not estimate.contains(estimate.value)


@pytest.mark.parametrize("of_nothing", [mean, median, lambda none: ratio_of_means(none, [1.0])])
def test_nothing_has_no_mean(of_nothing):
    with pytest.raises(ValueError):
        of_nothing([])


@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=60))
def test_median_interval_is_the_narrowest_that_holds_95_percent(values):
    estimate = median(values)
    ordered = sorted(values)
    below = next(k for k in range(1, len(values)) if stats.binom.cdf(k, len(values), 0.5) > 0.025)
    assert (estimate.low, estimate.high) == (ordered[below - 1], ordered[-below])


def test_ratio_by_hand():
    # Both means have a coefficient of variation of 1 %, four values each: Welch's freedom is 3 + 3.
    above, below = [198.0, 202.0, 198.0, 202.0], [99.0, 101.0, 99.0, 101.0]
    error = math.sqrt(2 * (4 / 3 / 4) / 100**2)
    factor = math.exp(2.446911851144969 * error)
    estimate = ratio_of_means(above, below)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((2.0, 2 / factor, 2 * factor))


def test_growth():
    grown = growth_percent([100.0, 100.0], [150.0, 150.0])
    assert (grown.value, grown.low, grown.high) == pytest.approx((50, 50, 50))
    with pytest.raises(ValueError, match="positive"):
        growth_percent([0.0], [1.0])


def test_growth_of_pairs_is_the_interval_of_the_logarithm():
    grown = growth_of_pairs([(1.0, 2.0), (10.0, 20.0), (100.0, 400.0)])
    logarithm = mean([math.log(2), math.log(2), math.log(4)])
    assert grown.value == pytest.approx(100 * (math.exp(logarithm.value) - 1))
    assert (grown.low, grown.high) == pytest.approx([100 * (math.exp(e) - 1) for e in (logarithm.low, logarithm.high)])
    assert growth_of_pairs([(2.0, 3.0)]) == Estimate(pytest.approx(50.0), None, None, 1)


def test_summaries_leave_unusable_cells_out_of_the_mean_but_not_of_sight():
    cells = [cell("tcp", 500, repetition) for repetition in (1, 2, 3)]
    cells[2] = judged(cells[2], Verdict.UNUSABLE, "a link was slow")
    cells[1] = judged(cells[1], Verdict.DEGRADED, "busy")
    (summary,) = summarise(cells, "run_time", by=("protocol", "load"))
    times = [c.measurement.metrics["run_time"].value for c in cells]
    assert summary.estimate.value == pytest.approx((times[0] + times[1]) / 2)
    assert summary.left_out == (times[2],)
    assert summary.verdict is Verdict.DEGRADED
    assert (summary.parameters, summary.unit) == ({"protocol": "tcp", "load": 500}, "s")


def test_a_group_of_unusable_cells_is_summarised_as_unusable():
    (summary,) = summarise([judged(cell("tcp", 500), Verdict.UNUSABLE, "x")], "run_time")
    assert (summary.verdict, summary.left_out) == (Verdict.UNUSABLE, ())


def test_groups_are_sorted_by_number_and_cells_without_the_metric_left_out():
    cells = [cell("tcp", load) for load in (800, 500.0, 1000)]
    assert [s.parameters["load"] for s in summarise(cells, "errors", by=("load",))] == [500, 800, 1000]
    assert summarise(cells, "nothing") == []
