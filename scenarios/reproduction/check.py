"""Compares a new record with an earlier one: which verdicts changed.

The check fails if a verdict is contradicted (`reproduced` and `not reproduced`), or if one is lost: a claim that was
decided no longer is, so the measurement, or its form, is worth less. A gained verdict is reported and does not fail:
the earlier record left the claim open, so it was not wrong. A claim that only one of the records has is reported too:
claims are added over time, and a new record may cover only some parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from results.records import ClaimVerdict
from scenarios.reproduction.record import JudgedClaim, Record

_DECIDED = (ClaimVerdict.REPRODUCED, ClaimVerdict.NOT_REPRODUCED)


@dataclass(frozen=True)
class Difference:
    """Differences between a new record and an earlier one, a line for each claim.

    Attributes:
        failures: verdicts that are contradicted or lost.
        remarks: verdicts that are gained, and claims that only one of both records has.
        same: number of claims with the same verdict.
    """

    failures: Sequence[str]
    remarks: Sequence[str]
    same: int


def difference(earlier: Record, later: Record) -> Difference:
    """Compares two records, claim by claim."""
    before, after = ({claim.name: claim for claim in record.claims} for record in (earlier, later))
    both = [(before[name], after[name]) for name in before if name in after]
    changed = [pair for pair in both if pair[0].verdict is not pair[1].verdict]
    new = [f"new: {_text(claim)}: {claim.verdict}" for name, claim in after.items() if name not in before]
    missing = [f"missing: {_text(claim)}: was {claim.verdict}" for name, claim in before.items() if name not in after]
    return Difference(
        failures=[_line(*pair) for pair in changed if _kind(*pair) in ("contradicted", "lost")],
        remarks=[*(_line(*pair) for pair in changed if _kind(*pair) in ("gained", "changed")), *new, *missing],
        same=len(both) - len(changed),
    )


def _kind(before: JudgedClaim, after: JudgedClaim) -> str:
    if before.verdict in _DECIDED:
        return "contradicted" if after.verdict in _DECIDED else "lost"
    return "gained" if after.verdict in _DECIDED else "changed"


def _line(before: JudgedClaim, after: JudgedClaim) -> str:
    return f"{_kind(before, after)}: {_text(after)}: {_verdict(before)} -> {_verdict(after)}"


def _text(claim: JudgedClaim) -> str:
    return f"{claim.scenario}: {claim.claim} [{claim.stated}]"


def _verdict(claim: JudgedClaim) -> str:
    return f"{claim.verdict} ({claim.measured or claim.why or 'no value'}; {claim.clock} clock)"
