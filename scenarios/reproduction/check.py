"""Compares a record with an earlier one, and with the program of today."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flightpath.clock import Clock
from flightpath.errors import FlightpathError, UsageError
from flightpath.identity import git
from flightpath.project import PROJECT
from results.records import ClaimVerdict
from scenarios.reproduction.measuring_code import is_same_program
from scenarios.reproduction.part import Part
from scenarios.reproduction.record import JudgedClaim, MeasuredPart, Record

_DECIDED = (ClaimVerdict.REPRODUCED, ClaimVerdict.NOT_REPRODUCED)


@dataclass(frozen=True)
class Difference:
    """Differences between a new record and an earlier one, a line for each claim.

    Attributes:
        failures: verdicts that are contradicted or lost.
        remarks: verdicts that are gained or of another processor, and claims that only one of both records has.
        same: number of claims with the same verdict.
    """

    failures: Sequence[str]
    remarks: Sequence[str]
    same: int


def difference(earlier: Record, later: Record) -> Difference:
    """Compares two records, claim by claim.

    The check fails if a verdict is contradicted (`reproduced` and `not reproduced`), or if one is lost: a claim that
    was decided no longer is, so the measurement, or its form, is worth less. A gained verdict is only reported, since
    the earlier record left the claim open. So is a claim that only one of the records has: claims are added over time,
    and a new record may cover only some parts. So is what the real clock measured on another processor, which decides
    about it.
    """
    before, after = ({claim.name: claim for claim in record.claims} for record in (earlier, later))
    both = [(before[name], after[name]) for name in before if name in after]
    changed = [pair for pair in both if pair[0].verdict is not pair[1].verdict]
    here, there = _processors(later), _processors(earlier)
    elsewhere = [pair for pair in changed if _differ(there.get(pair[0].part), here.get(pair[1].part))]
    changed = [pair for pair in changed if pair not in elsewhere]
    new = [f"new: {_text(claim)}: {claim.verdict}" for name, claim in after.items() if name not in before]
    missing = [f"missing: {_text(claim)}: was {claim.verdict}" for name, claim in before.items() if name not in after]
    return Difference(
        failures=[_line(*pair) for pair in changed if _kind(*pair) in ("contradicted", "lost")],
        remarks=[
            *(f"on another processor: {_line(*pair)}" for pair in elsewhere),
            *(_line(*pair) for pair in changed if _kind(*pair) in ("gained", "changed")),
            *new,
            *missing,
        ],
        same=len(both) - len(elsewhere) - len(changed),
    )


def require_one_commit(parts: Sequence[MeasuredPart], project: Path = PROJECT) -> None:
    """Checks that all parts of a record were measured by one commit that others can check out."""
    for part in parts:
        if not part.commit.isalnum():
            how = f"a changed checkout ({part.commit})" if part.commit else "a program without a commit"
            raise UsageError(f"{part.name} was measured by {how}", "commit the changes, then measure: make reproduce")
        try:
            git(project, "merge-base", "--is-ancestor", part.commit, "HEAD")
        except FlightpathError as error:
            where = f"{part.name} was measured by commit {part.commit}, which is not in this history"
            raise UsageError(where, "measure it again: make reproduce") from error
    if len(commits := {part.commit for part in parts}) > 1:
        raise UsageError(
            f"the parts were measured by {len(commits)} commits", "measure all of them by one: make reproduce"
        )


def other_claims(record: Record, parts: Sequence[Part]) -> list[str]:
    """Returns the names of scenarios whose claims are no longer those that the record has judged."""
    judged: dict[str, set[tuple[str, str]]] = {}
    for claim in record.claims:
        judged.setdefault(claim.scenario, set()).add((claim.claim, claim.stated))
    scenarios = {part.scenario.name: part.scenario for part in parts}
    return [
        name
        for name, scenario in scenarios.items()
        if {(check.claim, check.expected) for check in scenario.claims} != judged.get(name, set())
    ]


def stale(parts: Sequence[MeasuredPart], project: Path = PROJECT) -> list[str]:
    """Returns the names of parts whose measuring code has changed since, or that an unknown program measured."""

    def is_same(part: MeasuredPart) -> bool:
        scenario = part.command.split()[2]  # flightpath run NAME …
        return is_same_program({"commit": part.commit}, scenario, project)

    return [part.name for part in parts if not is_same(part)]


def _kind(before: JudgedClaim, after: JudgedClaim) -> str:
    if before.verdict in _DECIDED:
        return "contradicted" if after.verdict in _DECIDED else "lost"
    return "gained" if after.verdict in _DECIDED else "changed"


def _processors(record: Record) -> dict[str, object]:
    """Returns the processors of a record's parts on the real clock, as far as they are known, by part."""
    return {part.name: part.machine.get("processor") for part in record.parts if part.clock == Clock.REAL}


def _differ(one: object, another: object) -> bool:
    return bool(one and another) and one != another


def _line(before: JudgedClaim, after: JudgedClaim) -> str:
    return f"{_kind(before, after)}: {_text(after)}: {_verdict(before)} -> {_verdict(after)}"


def _text(claim: JudgedClaim) -> str:
    return f"{claim.scenario}: {claim.claim} [{claim.stated}]"


def _verdict(claim: JudgedClaim) -> str:
    return f"{claim.verdict} ({claim.measured or claim.why or 'no value'}; {claim.clock} clock)"
