"""The rules by which intervals decide claims."""

import math

import pytest

from experiments.claims import NEEDS_REAL_CLOCK, ClaimCheck, Evidence, InsufficientData, Outcome, check_claims
from experiments.judging import (
    EQUAL_PERCENT,
    LESS,
    MORE,
    NOT_MORE,
    ONE_REPETITION,
    TOO_WIDE,
    NotMeasured,
    Range,
    about,
    change,
    direction_and_size,
    judge,
    of_ratio,
    together,
)
from results.metrics import of_network
from results.records import Cell, CellResult, Certificate, ClaimVerdict, Measurement, Metric, Series, Verdict
from results.statistics.estimates import Estimate, difference, farthest, relative_deviation

YES, NO, NOT_DECIDED, NOT_TESTED = ClaimVerdict


def interval(value: float, half_width: float) -> Estimate:
    return Estimate(value, value - half_width, value + half_width, 3)


@pytest.mark.parametrize(
    ("wanted", "value", "half_width", "verdict"),
    [
        (about(16, 5), 16, 1, YES),
        (about(16, 5), 16, 60, NOT_DECIDED),  # right in the mean, and vague
        (about(16, 5), 30, 1, NO),
        (MORE, 105, 8, YES),
        (MORE, 0, EQUAL_PERCENT / 2, NO),  # a tie
        (MORE, EQUAL_PERCENT, 0.1, NOT_DECIDED),
        (LESS, -5, 1, YES),
        (LESS, 0, EQUAL_PERCENT / 2, NO),
        (NOT_MORE, 0, EQUAL_PERCENT / 2, YES),
    ],
)
def test_an_interval_decides_if_all_of_it_is_on_one_side(wanted, value, half_width, verdict):
    assert wanted.verdict(interval(value, half_width)) is verdict


MANY = {f"case {number}": interval(5, 50) for number in range(9)} | {"sure": interval(9, 1)}
MISSING = {"a": interval(5, 50), "b": NotMeasured("reno size=9"), "c": InsufficientData("no usable cell")}


@pytest.mark.parametrize(
    ("members", "verdict", "measured", "why"),
    [
        ({"": Estimate(900.0, None, None, 1)}, NOT_DECIDED, "+900.0 %", ONE_REPETITION),
        (
            {"small": interval(5, 1), "large, two paths": interval(-5, 1), "huge": NotMeasured("size=9")},
            NO,
            "small: +5.0 % (+4.0 to +6.0); large, two paths: -5.0 % (-6.0 to -4.0)",
            "not so: large (two paths)",
        ),
        (MISSING, NOT_TESTED, "", "reno size=9 was not measured; no usable cell"),
        (
            MANY,
            NOT_DECIDED,
            "+5.0 % (case 0: -45.0 to +55.0) to +9.0 % (sure: +8.0 to +10.0), of 10",
            f"not sure: case 0, case 1, case 2, and 6 more; {TOO_WIDE}",
        ),
        ({}, NOT_TESTED, "", "no cell was measured"),
    ],
)
def test_of_several_members_those_that_prevent_a_claim_are_named(members, verdict, measured, why):
    assert judge(members, MORE) == Outcome(verdict, measured, why)


def test_of_several_statements_the_worst_decides_and_gives_the_reason():
    good, bad = judge({"": interval(5, 1)}, MORE), judge({"late": interval(5, 1)}, Range(most=1))
    outcome = together(good, bad)
    assert (outcome.verdict, outcome.why) == (NO, "not so: late")
    assert outcome.measured == "+5.0 % (+4.0 to +6.0); late: +5.0 % (+4.0 to +6.0)"


def test_the_tolerance_of_a_ratio_grows_with_it():
    assert of_ratio(100, 2) == pytest.approx(4)
    assert of_ratio(-75, 2) == pytest.approx(0.5)


def cells(verdict: Verdict = Verdict.FAITHFUL, clock: str = "real", **goodputs: list[float]) -> list[CellResult]:
    certificate = Certificate(verdict, found={"clock": clock})
    return [
        CellResult(Cell({"kind": kind}, number), Measurement({"goodput": Metric(value, "bit/s")}), certificate)
        for kind, values in goodputs.items()
        for number, value in enumerate(values, start=1)
    ]


FASTER = direction_and_size(
    "mptcp is faster", lambda e: {"": change(e, "goodput", {"kind": "tcp"}, {"kind": "mptcp"})}, 380.4, 9.6
)


def test_a_direction_and_a_size_are_judged_apart():
    direction, size = check_claims(FASTER, cells(tcp=[3.8, 3.9, 4.0], mptcp=[7.9, 8.0, 8.1]), "full")
    assert (direction.verdict, direction.paper) == (YES, "more")
    assert (size.verdict, size.paper) == (NO, "+380 ± 9.6 %")
    assert direction.measured == size.measured
    assert size.claim == "mptcp is faster: by how much"


@pytest.mark.parametrize(
    ("clock", "after", "is_narrow"),
    [
        ("virtual", [4.2, 40.0, 10.5], True),
        ("virtual", [4.2, 40.0], False),  # too few pairs
        ("real", [4.2, 40.0, 10.5], False),  # no seeds: independent samples
    ],
)
def test_repetitions_of_one_seed_are_compared_by_pairs(clock, after, is_narrow):
    both = cells(clock=clock, before=[4.0, 38.0, 10.0], after=after)
    found = change(Evidence(both, "full"), "goodput", {"kind": "before"}, {"kind": "after"})
    assert (found.low > 4.5 and found.high < 5.8) is is_narrow, found


@pytest.mark.parametrize(
    ("metric", "needs_real_clock", "clock", "why"),
    [
        ("cpu_total", False, "virtual", NEEDS_REAL_CLOCK),
        ("goodput", True, "virtual", NEEDS_REAL_CLOCK),
        ("goodput", False, "virtual", ""),
        ("rtt", False, "virtual", "no usable cell measured rtt"),
        ("goodput", True, "real", ""),
    ],
)
def test_claims_about_processors_need_the_real_clock(metric, needs_real_clock, clock, why):
    check = ClaimCheck("x", "1", lambda evidence: Outcome(YES, str(evidence.mean(metric))), needs_real_clock)
    (judged,) = check_claims([check], cells(clock=clock, tcp=[1.0]), "quick")
    assert (judged.verdict, judged.why) == (NOT_TESTED if why else YES, why)


def test_what_depends_on_the_machine_is_left_out_in_virtual_time():
    series = {name: Series("%", (0.0,), (1.0,)) for name in ("idle_cpu", "throughput_h1_h2_a")}
    metrics = {name: Metric(1.0, "1") for name in ("goodput", "cpu_per_gbps", "ftp_cpu_total", "jmeter_lateness_p99")}
    left = of_network(Measurement(metrics, series, {"iperf3": "3.12"}))
    due = ({"goodput"}, {"throughput_h1_h2_a"}, {"iperf3": "3.12"})
    assert (set(left.metrics), set(left.series), left.metadata) == due


def test_degraded_cells_count_only_if_they_are_few():
    faithful = cells(tcp=[3.8, 3.9, 4.0, 3.9, 3.9], mptcp=[7.9, 8.0, 8.1, 8.0])
    one, _ = check_claims(FASTER, [*faithful, *cells(Verdict.DEGRADED, mptcp=[0.1])], "full")
    many, _ = check_claims(FASTER, [*faithful, *cells(Verdict.DEGRADED, mptcp=[0.1, 0.1])], "full")
    assert (one.verdict, one.why) == (NOT_DECIDED, f"{TOO_WIDE}; 1 of 10 cells is degraded")
    assert (many.verdict, many.why) == (YES, "2 of 11 cells are degraded and left out")


@pytest.mark.parametrize(
    ("kind", "verdict", "words"),
    [
        ("mptcp", Verdict.UNUSABLE, "mptcp: no cell is usable"),
        ("mptcp", Verdict.DEGRADED, "mptcp: no cell is faithful"),
        ("quic", Verdict.UNUSABLE, "quic was not measured"),
        ("idle", Verdict.UNUSABLE, "a mean is not positive, so that there is no ratio"),
    ],
)
def test_a_gap_is_named_by_its_parameters_and_so_is_what_does_not_count(kind, verdict, words):
    evidence = Evidence(cells(tcp=[1.0], idle=[0.0]), "full", cells(verdict, mptcp=[1.0]))
    outcome = judge({"": change(evidence, "goodput", {"kind": "tcp"}, {"kind": kind})}, MORE)
    assert (outcome.verdict, outcome.why) == (NOT_TESTED, words)


def test_a_difference_takes_each_bound_from_the_sides_that_make_it():
    before, after = Estimate(1.0, 0.5, 6.0, 3), Estimate(2.0, 1.0, 12.0, 5)
    due = Estimate(1.0, 1 - math.hypot(2 - 1, 6 - 1), 1 + math.hypot(12 - 2, 1 - 0.5), 3)
    assert difference(before, after) == due
    assert difference(before, Estimate(2.0, None, None, 1)) == Estimate(1.0, None, None, 1)


def test_a_deviation_has_the_interval_of_the_variance():
    deviation = relative_deviation([99.0, 100.0, 101.0])
    assert (deviation.value, deviation.count) == (pytest.approx(1.0), 3)
    # The 2.5 % and 97.5 % quantiles of chi-squared with two degrees of freedom are 0.0506 and 7.378.
    assert deviation.low == pytest.approx((2 / 7.378) ** 0.5, rel=1e-3)
    assert deviation.high == pytest.approx((2 / 0.0506) ** 0.5, rel=1e-3)
    assert relative_deviation([5.0]) == Estimate(0.0, None, None, 1)
    assert relative_deviation([5.0, 5.0]) == Estimate(0.0, 0.0, 0.0, 2)
    for wrong in ([], [-1.0, 1.0]):
        with pytest.raises(ValueError, match="positive mean"):
            relative_deviation(wrong)
        with pytest.raises(ValueError, match="positive mean"):
            farthest(wrong)


def test_the_value_farthest_from_the_mean_describes_these_values_and_no_others():
    assert farthest([95.0, 100.0, 100.0, 105.0]) == Estimate(5.0, 5.0, 5.0, 4)
    assert farthest([5.0]) == Estimate(0.0, None, None, 1)
    assert farthest([10.7] * 3).value == 0
