"""How claims are judged: without one rule for all papers, "reproduced" would mean something else in each scenario.

Everything is derived from stored cells alone. Cells whose certificate is `unusable` count for nothing, and each claim
says how many that were.

How a claim about a size is judged, in this order:

1. measured within a tolerance of the paper's value: reproduced. Papers state figures without an interval, from another
   kernel and other machines; nearer than the tolerance one cannot expect to come.
2. the paper's value in the 95 % interval: reproduced, if that is narrower than twice the tolerance either way; a
   wider one would hold any value, so it tests nothing.
3. otherwise: not reproduced.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from results.records import CellResult, Claim, ClaimVerdict
from results.statistics.estimates import Estimate
from results.summary.verdicts import doubts

TOLERANCE_POINTS = 10.0
"""Of a claim in per cent, in percentage points."""

NOTHING = "no cell of it may be believed, or none was measured"


@dataclass(frozen=True)
class Finding:
    """What became of one claim, before it is put beside what is claimed."""

    verdict: ClaimVerdict
    measured: str = ""
    why: str = ""

    @classmethod
    def of(cls, holds: bool, measured: str, why: str = "") -> "Finding":
        """A claim that holds or does not."""
        return cls(ClaimVerdict.REPRODUCED if holds else ClaimVerdict.NOT_REPRODUCED, measured, why)


class Untestable(Exception):
    """This run cannot answer the claim; the message says why."""


def claim(sentence: str, paper: str, judge: Callable[[], Finding], note: str) -> Claim:
    """A claim and what became of it.

    Args:
        sentence: what is said.
        paper: the value claimed, as text with its unit.
        judge: judges it; may raise Untestable.
        note: on all claims of the run, from `cells_note`.
    """
    try:
        found = judge()
    except Untestable as reason:
        found = Finding(ClaimVerdict.NOT_TESTED, why=str(reason))
    return Claim(sentence, paper, found.measured, found.verdict, "; ".join(filter(None, (found.why, note))))


def judged_percent(measured: Estimate, paper: float) -> tuple[ClaimVerdict, str]:
    """The verdict on a growth or a difference in per cent, and what it rests on.

    Raises:
        Untestable: the interval is too wide to tell.
    """
    off = measured.value - paper
    if abs(off) <= TOLERANCE_POINTS:
        return ClaimVerdict.REPRODUCED, f"within {TOLERANCE_POINTS:g} points of the paper's"
    if not measured.contains(paper):
        return ClaimVerdict.NOT_REPRODUCED, f"{off:+.0f} points from the paper's"
    refuse_vague(measured)
    return ClaimVerdict.REPRODUCED, "the interval holds the paper's value"


def refuse_vague(measured: Estimate) -> None:
    """Raises Untestable if an interval in per cent is so wide that it would hold anything."""
    if measured.half_width is not None and measured.half_width > 2 * TOLERANCE_POINTS:
        raise Untestable(f"{percent_text(measured)}: too wide an interval to tell; measure more repetitions (--repeat)")


def percent_text(estimate: Estimate) -> str:
    """A difference in per cent with its interval."""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:+.1f} % (one repetition, no interval)"
    return f"{estimate.value:+.1f} % ({estimate.low:+.1f} to {estimate.high:+.1f} %)"


def cells_note(cells: Sequence[CellResult]) -> str:
    """How many cells may not be believed, or not fully; empty if all may."""
    return "; ".join(doubts(cells))
