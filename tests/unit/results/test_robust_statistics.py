"""Robust statistics, held to SciPy's, and the interval of a difference for distributions that are not normal."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from results.statistics import effects, robust
from results.statistics.estimates import students_t
from tests.support.rings import nightly

finite = st.floats(-1e6, 1e6)
positive = st.lists(st.floats(1, 1e6), min_size=2, max_size=30)


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 2.6, 5, 10.7, 30, 200])
def test_students_t_takes_fractions_of_degrees_of_freedom(freedom):
    assert students_t(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)


@pytest.mark.parametrize(
    ("first", "second"), [(1, 1), (1, 40), (3, 3), (4, 8), (8, 4), (20, 4), (60, 4), (20, 30), (25, 40)]
)
def test_mann_whitney_is_scipys(first, second):
    noise = random.Random(first * 1000 + second)
    for shift in (0, 0.5, 3):
        a = [noise.gauss(0, 1) for _ in range(first)]
        b = [noise.gauss(shift, 1) for _ in range(second)]
        theirs = stats.mannwhitneyu(b, a, method="exact")
        assert robust.mann_whitney(a, b) == pytest.approx(theirs.pvalue, rel=1e-9)
        assert robust.share_above(a, b) == pytest.approx(theirs.statistic / (first * second))


@given(positive, positive)
def test_an_effect_turned_round_says_the_opposite(first, second):
    there, back = effects.between(first, second), effects.between(second, first)
    assert (1 + there.change.value / 100) * (1 + back.change.value / 100) == pytest.approx(1)
    assert there.p == pytest.approx(back.p, rel=1e-6, abs=1e-12)
    assert (1 + there.change.low / 100) * (1 + back.change.high / 100) == pytest.approx(1, rel=1e-4)
    assert there.change.low <= there.change.value <= there.change.high


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


def test_too_few_values_have_no_interval():
    assert robust.mann_whitney([1, 2, 3], [4, 5, 6]) == pytest.approx(0.1)
    single = effects.between([1.0], [4.0, 5.0])
    assert (single.change.low, single.change.high, single.p) == (None, None, None)
    for wrong in (([], [1]), ([1], [])):
        with pytest.raises(ValueError, match="both sides"):
            robust.mann_whitney(*wrong)
        with pytest.raises(ValueError, match="both sides"):
            effects.between(*wrong)


@given(st.lists(st.tuples(finite, st.integers(1, 5)), min_size=1, max_size=12))
def test_a_weight_is_so_many_equal_values(pairs):
    spelt_out = [value for value, count in pairs for _ in range(count)]
    values, weights = zip(*pairs, strict=True)
    assert robust.weighted_quantile(values, weights, 0.5) == pytest.approx(statistics.median(spelt_out))


def test_quantiles_at_the_ends():
    assert robust.weighted_quantile([3, 1, 2], [1, 1, 1], 0.0) == 1
    assert robust.weighted_quantile([3, 1, 2], [1, 1, 1], 1.0) == 3
    with pytest.raises(ValueError, match="no values"):
        robust.weighted_quantile([], [], 0.5)


def test_half_of_the_values_may_be_wild():
    noise = random.Random(2)
    values = [noise.gauss(10, 1) for _ in range(501)]
    assert robust.mad_scale(values) == pytest.approx(1, rel=0.1)
    assert robust.mad_scale([*values, *[1e9] * 200]) < 2.5
    assert robust.mad_scale(values) == pytest.approx(stats.median_abs_deviation(values, scale="normal"), rel=1e-3)
