"""Statistics against SciPy, against values worked out by hand, and by how often their intervals hold the truth."""

import math
import random
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from results.records import Verdict
from results.statistics import effects, estimates, robust
from tests.support.made_up_runs import cell, judged
from tests.support.rings import nightly

finite = st.floats(-1e6, 1e6)
positive = st.lists(st.floats(1, 1e6), min_size=2, max_size=30)


@pytest.mark.parametrize(
    "estimate",
    [
        estimates.mean([5.0]),
        estimates.median([1.0, 2.0, 3.0, 4.0, 5.0]),
        estimates.ratio_of_means([5.0], [1.0, 2.0]),
        estimates.growth_of_pairs([(2.0, 3.0)]),
        effects.between([1.0], [4.0, 5.0]).change,
    ],
)
def test_too_few_values_have_no_interval(estimate):
    assert (estimate.low, estimate.high, estimate.half_width) == (None, None, None)
    assert not estimate.contains(estimate.value)


def test_nothing_has_no_statistics():
    for of_two in (estimates.ratio_of_means, robust.mann_whitney, effects.between):
        for wrong in (([], [1.0]), ([1.0], [])):
            with pytest.raises(ValueError, match="both sides"):
                of_two(*wrong)
    for of_one in (estimates.mean, estimates.median, lambda values: robust.weighted_quantile(values, [], 0.5)):
        with pytest.raises(ValueError, match="values"):
            of_one([])


@given(positive)
def test_mean_agrees_with_scipy(values):
    estimate = estimates.mean(values)
    if len(set(values)) > 1:
        low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert (estimate.low, estimate.high) == pytest.approx((low, high), rel=1e-6, abs=1e-6)
    assert estimate.low <= estimate.value <= estimate.high
    assert (estimate.value, estimate.count) == (pytest.approx(np.mean(values)), len(values))


@given(st.lists(finite, min_size=6, max_size=60))
def test_median_interval_is_the_narrowest_that_holds_95_percent(values):
    estimate = estimates.median(values)
    ordered = sorted(values)
    below = next(k for k in range(1, len(values)) if stats.binom.cdf(k, len(values), 0.5) > 0.025)
    assert (estimate.low, estimate.high) == (ordered[below - 1], ordered[-below])


def test_ratio_by_hand():
    # Both means have a coefficient of variation of 1 %, four values each: Welch's freedom is 3 + 3.
    above, below = [198.0, 202.0, 198.0, 202.0], [99.0, 101.0, 99.0, 101.0]
    error = math.sqrt(2 * (4 / 3 / 4) / 100**2)
    factor = math.exp(2.446911851144969 * error)
    estimate = estimates.ratio_of_means(above, below)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((2.0, 2 / factor, 2 * factor))


def test_growth():
    grown = estimates.growth_percent([100.0, 100.0], [150.0, 150.0])
    assert (grown.value, grown.low, grown.high) == pytest.approx((50, 50, 50))
    none = estimates.growth_percent([10.7] * 2, [10.7] * 3)
    assert (none.value, none.low, none.high) == (0, 0, 0)
    with pytest.raises(ValueError, match="positive"):
        estimates.growth_percent([0.0], [1.0])


def test_growth_of_pairs_is_the_interval_of_the_logarithm():
    grown = estimates.growth_of_pairs([(1.0, 2.0), (10.0, 20.0), (100.0, 400.0)])
    logarithm = estimates.mean([math.log(2), math.log(2), math.log(4)])
    assert grown.value == pytest.approx(100 * (math.exp(logarithm.value) - 1))
    assert (grown.low, grown.high) == pytest.approx([100 * (math.exp(e) - 1) for e in (logarithm.low, logarithm.high)])


def test_summaries_leave_unusable_cells_out_of_the_mean_but_not_of_sight():
    cells = [cell("tcp", 500, repetition) for repetition in (1, 2, 3)]
    cells[2] = judged(cells[2], Verdict.UNUSABLE, "a link was slow")
    cells[1] = judged(cells[1], Verdict.DEGRADED, "busy")
    (summary,) = estimates.summarise(cells, "run_time", by=("protocol", "load"))
    times = [c.measurement.metrics["run_time"].value for c in cells]
    assert summary.estimate.value == pytest.approx((times[0] + times[1]) / 2)
    assert summary.left_out == (times[2],)
    assert summary.verdict is Verdict.DEGRADED
    assert (summary.parameters, summary.unit) == ({"protocol": "tcp", "load": 500}, "s")
    (unusable,) = estimates.summarise(cells[2:], "run_time")
    assert (unusable.verdict, unusable.left_out) == (Verdict.UNUSABLE, ())


def test_groups_are_sorted_by_number_and_cells_without_the_metric_left_out():
    cells = [cell("tcp", load) for load in (800, 500.0, 1000)]
    assert [s.parameters["load"] for s in estimates.summarise(cells, "errors", by=("load",))] == [500, 800, 1000]
    assert estimates.summarise(cells, "nothing") == []


def test_an_effect_agrees_with_welchs_test():
    before, after = [10.0, 11.0, 9.5, 10.4], [12.0, 12.9, 11.0]
    other = stats.ttest_ind([v - 20 for v in after], [v - 20 for v in before], equal_var=False)
    shifted = effects.between([v - 20 for v in before], [v - 20 for v in after])
    interval = other.confidence_interval()
    assert not shifted.relative
    assert shifted.p == pytest.approx(other.pvalue)
    assert (shifted.change.low, shifted.change.high) == pytest.approx((interval.low, interval.high))
    ratio = effects.between(before, after)
    assert ratio.relative and ratio.change.value == pytest.approx((11.9666667 / 10.225 - 1) * 100)
    assert (ratio.p < 0.05) == (not ratio.change.contains(0))


@given(positive, positive)
def test_an_effect_turned_round_says_the_opposite(first, second):
    there, back = effects.between(first, second), effects.between(second, first)
    assert (1 + there.change.value / 100) * (1 + back.change.value / 100) == pytest.approx(1)
    assert there.p == pytest.approx(back.p, rel=1e-6, abs=1e-12)
    assert (1 + there.change.low / 100) * (1 + back.change.high / 100) == pytest.approx(1, rel=1e-4)
    assert there.change.low <= there.change.value <= there.change.high


@pytest.mark.parametrize(
    ("before", "after", "p"),
    [
        ([0.0, 0.0], [0.0, 0.0], 1.0),
        ([10.7] * 2, [10.7] * 3, 1.0),
        ([0.0, 0.0], [3.0, 3.0], 0.0),
        ([5.0], [6.0, 7.0], None),
    ],
)
def test_equal_constants_do_not_differ_and_other_constants_do(before, after, p):
    assert effects.between(before, after).p == p


@pytest.mark.parametrize("shape", ["shortfall", nightly("wide"), nightly("laplace")])
def test_the_interval_of_a_change_holds_what_it_promises(shape):
    noise = random.Random(shape)
    draw = {
        "shortfall": lambda: math.exp(-noise.expovariate(1 / 0.15)),
        "wide": lambda: math.exp(noise.gauss(0, 0.2)),
        "laplace": lambda: math.exp(noise.choice((-1, 1)) * noise.expovariate(1 / 0.08)),
    }[shape]
    for first, second in ((2, 2), (4, 4), (5, 12), (30, 30)):
        held = 0
        for _ in range(3000):
            change = effects.between([draw() for _ in range(first)], [0.8 * draw() for _ in range(second)]).change
            held += change.low <= -20 <= change.high
        assert held / 3000 >= 0.93, f"95 % was promised for {first} and {second} values"


def test_a_prediction_interval_holds_the_next_value_as_often_as_it_says():
    noise = random.Random(5)
    inside = 0
    for _ in range(1000):
        history = [noise.gauss(100, 3) for _ in range(5)]
        inside += effects.prediction(history).contains(noise.gauss(100, 3))
    assert 0.93 < inside / 1000 < 0.97


def test_probabilities_are_raised_for_how_many_questions_were_asked():
    assert effects.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert effects.holm([]) == []


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 40), (3, 3), (8, 4), (60, 4), (25, 40)])
def test_mann_whitney_is_scipys(first, second):
    noise = random.Random(first * 1000 + second)
    for shift in (0, 0.5, 3):
        a = [noise.gauss(0, 1) for _ in range(first)]
        b = [noise.gauss(shift, 1) for _ in range(second)]
        theirs = stats.mannwhitneyu(b, a, method="exact")
        assert robust.mann_whitney(a, b) == pytest.approx(theirs.pvalue, rel=1e-9)
        assert robust.share_above(a, b) == pytest.approx(theirs.statistic / (first * second))


@given(st.lists(st.tuples(finite, st.integers(1, 5)), min_size=1, max_size=12))
def test_a_weight_is_so_many_equal_values(pairs):
    spelt_out = [value for value, count in pairs for _ in range(count)]
    values, weights = zip(*pairs, strict=True)
    assert robust.weighted_quantile(values, weights, 0.5) == pytest.approx(statistics.median(spelt_out))
    assert [robust.weighted_quantile(values, weights, share) for share in (0.0, 1.0)] == [min(values), max(values)]


def test_half_of_the_values_may_be_wild():
    noise = random.Random(2)
    values = [noise.gauss(10, 1) for _ in range(501)]
    assert robust.mad_scale([*values, *[1e9] * 200]) < 2.5
    assert robust.mad_scale(values) == pytest.approx(stats.median_abs_deviation(values, scale="normal"), rel=1e-3)
