"""The statistics of preflight, held to SciPy's."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from probes.preflight.memory import robust

finite = st.floats(-1e6, 1e6)
samples = st.lists(finite, min_size=1, max_size=30)


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 2.6, 5, 10.7, 30, 200])
@pytest.mark.parametrize("probability", [0.9, 0.975, 0.995])
def test_student_t(probability, freedom):
    assert robust.student_t(probability, freedom) == pytest.approx(stats.t.ppf(probability, freedom), rel=2e-3)


@pytest.mark.parametrize(
    ("first", "second"), [(1, 1), (1, 40), (3, 3), (4, 8), (60, 4), (20, 30), (25, 40), (100, 200)]
)
def test_mann_whitney_is_scipys(first, second):
    noise = random.Random(first * 1000 + second)
    for shift in (0, 0.5, 3):
        a = [noise.gauss(0, 1) for _ in range(first)]
        b = [noise.gauss(shift, 1) for _ in range(second)]
        method = "exact" if min(first, second) <= 20 else "asymptotic"
        theirs = stats.mannwhitneyu(b, a, method=method)
        share, p_value = robust.mann_whitney(a, b)
        assert p_value == pytest.approx(theirs.pvalue, rel=1e-9)
        assert share == pytest.approx(theirs.statistic / (first * second))


@given(samples, samples)
def test_a_comparison_turned_round_says_the_opposite(first, second):
    there, back = robust.hodges_lehmann(first, second), robust.hodges_lehmann(second, first)
    assert there.value == pytest.approx(-back.value, abs=1e-6)
    assert there.share_above == pytest.approx(1 - back.share_above)
    assert there.p_value == pytest.approx(back.p_value)
    assert (there.low is None) == (back.low is None)
    if there.low is not None and back.high is not None:
        assert there.low == pytest.approx(-back.high, abs=1e-6)
        assert there.low <= there.value <= there.high


def test_the_interval_of_a_shift_holds_what_it_promises():
    noise = random.Random(7)
    for first, second in ((4, 4), (5, 12), (30, 30)):
        held = 0
        for _ in range(1000):
            found = robust.hodges_lehmann(
                [noise.expovariate(1) for _ in range(first)], [0.4 + noise.expovariate(1) for _ in range(second)]
            )
            held += found.low <= 0.4 <= found.high
        assert held >= 935, f"95 % was promised for {first} and {second} values"


def test_too_few_values_have_no_interval():
    found = robust.hodges_lehmann([1, 2, 3], [4, 5, 6])
    assert (found.value, found.low, found.high, found.p_value) == (3, None, None, pytest.approx(0.1))
    for wrong in (([], [1]), ([1], [])):
        with pytest.raises(ValueError, match="both sides"):
            robust.mann_whitney(*wrong)


@given(samples)
def test_equal_weights_make_the_usual_median(values):
    assert robust.weighted_quantile(values, [0.3] * len(values), 0.5) == pytest.approx(statistics.median(values))


@given(st.lists(st.tuples(finite, st.integers(1, 5)), min_size=1, max_size=12))
def test_a_weight_is_so_many_equal_values(pairs):
    spelt_out = [value for value, count in pairs for _ in range(count)]
    values, weights = zip(*pairs, strict=True)
    assert robust.weighted_quantile(values, weights, 0.5) == pytest.approx(statistics.median(spelt_out))


def test_quantiles_at_the_ends():
    assert robust.weighted_quantile([3, 1, 2], [1, 1, 1], 0.0) == 1
    assert robust.weighted_quantile([3, 1, 2], [1, 1, 1], 1.0) == 3
    with pytest.raises(ValueError, match="nothing"):
        robust.weighted_quantile([], [], 0.5)


def test_half_of_the_values_may_be_wild():
    noise = random.Random(2)
    values = [noise.gauss(10, 1) for _ in range(501)]
    assert robust.mad_scale(values) == pytest.approx(1, rel=0.1)
    assert robust.mad_scale([*values, *[1e9] * 200]) < 2.5
    assert robust.mad_scale(values) == pytest.approx(stats.median_abs_deviation(values, scale="normal"), rel=1e-3)
