"""Which program measured the parts of a record, and whether it is still this one: one commit, the same claims."""

from collections.abc import Sequence
from pathlib import Path

from flightpath.errors import FlightpathError, UsageError
from flightpath.identity import git
from flightpath.project import PROJECT
from scenarios.reproduction.measuring_code import is_same_program
from scenarios.reproduction.parts import Part
from scenarios.reproduction.record import MeasuredPart, Record


def require_one_commit(parts: Sequence[MeasuredPart], project: Path = PROJECT) -> None:
    """Checks that all parts of a record were measured by one commit that others can check out.

    Raises:
        UsageError: by several, by a changed checkout, or by a commit that is not in the history of this checkout.
    """
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
