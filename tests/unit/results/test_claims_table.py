"""What several claims have in common is said once."""

from results.records import Claim, ClaimVerdict
from results.summary.claims import claims_table

YES, NO, NOT_DECIDED, NOT_TESTED = ClaimVerdict


def table(*claims: tuple[ClaimVerdict, str]) -> tuple[list[str], list[str]]:
    """The reasons that stay with the claims, and the remarks."""
    shown = claims_table([Claim(f"claim {n}", "p", "m", *claim) for n, claim in enumerate(claims)])
    return [claim.why for claim in shown.claims], list(shown.remarks)


def test_a_reason_of_all_claims_of_a_verdict_is_a_remark_and_other_reasons_stay():
    assert table((NOT_DECIDED, "one; at 800/s"), (YES, "one"), (NOT_DECIDED, "one"), (NO, "")) == (
        ["at 800/s", "one", "", ""],
        ["not decided: one"],
    )


def test_a_reason_of_some_is_moved_only_from_those_that_have_no_other():
    claims = [(NOT_TESTED, "a"), (NOT_TESTED, "a"), (NOT_TESTED, "a; b"), (NOT_TESTED, "c"), (YES, "")]
    assert table(*claims) == (["", "", "a; b", "c", ""], ["not tested here, where nothing else is said: a"])


def test_a_doubt_about_all_claims_is_a_remark():
    assert table((YES, "near; 1 cell is degraded"), (NO, "1 cell is degraded")) == (
        ["near", ""],
        ["all claims: 1 cell is degraded"],
    )


def test_what_is_said_once_anyway_stays_where_it_is():
    assert table((NOT_DECIDED, "one"), (NO, "far")) == (["one", "far"], [])
    assert table((NOT_TESTED, "one")) == (["one"], [])
    assert table() == ([], [])
