"""Claims of a run for its pages: a reason that several claims share is a remark below them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from results.records import Claim, ClaimVerdict

_BETWEEN = "; "
_UNJUDGED = (ClaimVerdict.NOT_DECIDED, ClaimVerdict.NOT_TESTED)


@dataclass(frozen=True)
class ClaimsTable:
    """Claims, and the reasons that several of them share, as remarks."""

    claims: Sequence[Claim]
    remarks: Sequence[str]

    @property
    def counts(self) -> str:
        return verdict_counts(claim.verdict for claim in self.claims)


def verdict_counts(verdicts: Iterable[ClaimVerdict]) -> str:
    """Returns how many claims have each verdict, as text: `3 reproduced, 1 not decided`."""
    count = Counter(verdicts)
    return ", ".join(f"{count[verdict]} {verdict}" for verdict in ClaimVerdict if count[verdict])


def finding(answer: Sequence[str], claims: Sequence[Claim]) -> list[str]:
    """Returns a run's result in sentences: the scenario's answer, and the counts of the claims' verdicts."""
    if not claims:
        return list(answer)
    counts = ClaimsTable(claims, ()).counts
    return [*answer, f"Of its {len(claims)} claims: {counts}." if len(claims) > 1 else f"Its one claim: {counts}."]


def claims_table(claims: Sequence[Claim]) -> ClaimsTable:
    """Returns the claims of a run, in their order, with shared reasons as remarks."""
    table = _without_common(ClaimsTable(claims, ()))
    for verdict in _UNJUDGED:
        table = _without_commonest(table, verdict)
    return table


def _without_common(table: ClaimsTable) -> ClaimsTable:
    """Moves reasons that all claims share."""
    if len(table.claims) < 2:
        return table
    common = [part for part in _parts(table.claims[0]) if all(part in _parts(claim) for claim in table.claims)]
    remarks = [f"all claims: {part}" for part in common]
    return ClaimsTable([_without(claim, common) for claim in table.claims], [*table.remarks, *remarks])


def _without_commonest(table: ClaimsTable, verdict: ClaimVerdict) -> ClaimsTable:
    """Moves the most common reason of a verdict, from all of its claims or from those without another reason."""
    claims = [claim for claim in table.claims if claim.verdict is verdict]
    count = Counter(part for claim in claims for part in dict.fromkeys(_parts(claim)))
    reason, times = next(iter(count.most_common(1)), ("", 0))
    if times < 2:
        return table
    is_of_all = times == len(claims)
    shown = [
        _without(claim, [reason]) if claim.verdict is verdict and (is_of_all or claim.why == reason) else claim
        for claim in table.claims
    ]
    where = "" if is_of_all else ", where nothing else is said"
    return ClaimsTable(shown, [*table.remarks, f"{verdict}{where}: {reason}"])


def _parts(claim: Claim) -> list[str]:
    return claim.why.split(_BETWEEN) if claim.why else []


def _without(claim: Claim, parts: Sequence[str]) -> Claim:
    return replace(claim, why=_BETWEEN.join(part for part in _parts(claim) if part not in parts))
