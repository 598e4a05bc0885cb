"""The claims of the MPTCP load paper, on made-up cells of the paper's loads; each by itself: test_every_claim.py."""

from enum import IntEnum

from experiments.claims import check_claims
from results.records import CellResult, Claim, ClaimVerdict, Verdict
from scenarios.web_load.claims import mptcp_load_claims
from tests.support.claim_cases.case import Change, Point
from tests.support.claim_cases.papers import CAPACITY, WORLDS
from tests.support.made_up_runs import cell, changed, judged, like_the_paper, varied

Of = IntEnum(
    "Of",
    "MPTCP_GROWS MPTCP_GROWTH TCP_GROWS TCP_GROWTH NO_ERRORS ERRORS_GROW MPTCP_PUNCTUAL TCP_LONGER TCP_RUN_TIME "
    "MPTCP_RUN_TIME TCP_LATER AHEAD ADVANTAGE HIGHER LITTLE BETWEEN_HOSTS BELOW_CAPACITY ABOVE_CAPACITY ADJUSTED",
    start=0,
)
"""The claims in their order."""

YES, NO, _, NOT_TESTED = ClaimVerdict
EXPECTED = [NOT_TESTED if claim is Of.ADJUSTED else YES for claim in Of]


def claims(cells: list[CellResult], form: str) -> list[Claim]:
    return check_claims(mptcp_load_claims(), cells, form)


def run_of_the_paper(point: Point | None = None, **values: float) -> list[CellResult]:
    """The paper's cells, with other values of some metrics in the cells with some parameters."""
    return WORLDS["mptcp_load"].run(Change(values, point or {}))


def test_the_quick_form_is_judged_as_the_full_one_and_what_was_measured_is_said():
    checked = claims(run_of_the_paper(), "quick")
    assert [claim.verdict for claim in checked] == EXPECTED, checked
    assert "%" in checked[0].measured and " to " in checked[0].measured
    assert "whose schedule grows by 59 %" in checked[Of.MPTCP_GROWTH].why


def test_without_tcp_errors_the_quick_form_tests_neither_claim_on_errors():
    cells = run_of_the_paper({"protocol": "tcp"}, errors=0, error_rate=0)
    for index in (Of.NO_ERRORS, Of.ERRORS_GROW):
        claim = claims(cells, "quick")[index]
        assert claim.verdict is NOT_TESTED
        assert "the quick form is too short" in claim.why and "run --full" in claim.why
    assert claims(cells, "full")[Of.NO_ERRORS].verdict is YES
    failing = run_of_the_paper({"protocol": "mptcp", "load": 500.0}, errors=5, error_rate=0.1)
    assert claims(failing, "quick")[Of.NO_ERRORS].verdict is NO


def test_without_cells_of_the_papers_parameters_nothing_is_tested_and_the_claim_says_why():
    for cells, why in (
        ([], "no cell was measured"),
        ([judged(c, Verdict.UNUSABLE, "slow") for c in run_of_the_paper()], "no cell is usable"),
        ([varied(c, page_weight="2k") for c in run_of_the_paper()], "varies page_weight"),
    ):
        checked = claims(cells, "full")
        assert [claim.verdict for claim in checked] == [NOT_TESTED] * 19
        assert all(why in claim.why and not claim.measured for claim in checked[: Of.ADJUSTED])


def test_what_a_verdict_rests_on_is_said():
    """The size of a page, no low load, and the paper's loads although there is a lower one."""
    lower = [*run_of_the_paper(), *(cell("mptcp", 300.0, n) for n in (1, 2, 3))]
    for cells, index, verdict, why in (
        (run_of_the_paper(), Of.TCP_GROWTH, YES, f"one path is full at {CAPACITY:.0f}/s"),
        (run_of_the_paper(), Of.ADVANTAGE, YES, f"one path is full at {CAPACITY:.0f}/s"),
        (like_the_paper(), Of.LITTLE, NOT_TESTED, "the lowest is 500 requests/s"),
        (lower, Of.MPTCP_GROWTH, YES, "from 500 to 800"),
    ):
        claim = claims(cells, "full")[index]
        assert claim.verdict is verdict and why in claim.why


def test_ramps_too_short_for_the_size_of_a_growth_still_test_its_direction():
    schedules = {500.0: 6.0, 800.0: 4.2}
    cells = [
        changed(c, schedule=schedules[load])
        for c in like_the_paper()
        if (load := c.cell.parameters["load"]) in schedules
    ]
    checked = claims(cells, "quick")
    assert (checked[Of.MPTCP_GROWS].verdict, checked[Of.MPTCP_GROWTH].verdict) == (YES, NOT_TESTED)
    assert "allows no more than +43 %" in checked[Of.MPTCP_GROWTH].why


def test_a_missing_metric_is_not_a_made_up_zero():
    cells = like_the_paper()
    for c in cells:
        for name in ("errors", "error_rate", "schedule"):
            del c.measurement.metrics[name]
    checked = claims(cells, "full")
    of_rates = {Of.MPTCP_GROWS, Of.TCP_GROWS, Of.AHEAD, Of.ADVANTAGE, Of.HIGHER, Of.BETWEEN_HOSTS, Of.BELOW_CAPACITY}
    assert {index for index, claim in enumerate(checked) if claim.verdict is YES} == {*of_rates, Of.MPTCP_RUN_TIME}
    assert {index for index, claim in enumerate(checked) if claim.verdict is NO} == {Of.TCP_RUN_TIME}
