"""Which runs are meant: without it a store of a thousand runs would have to be read from the top."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from fnmatch import fnmatchcase
from typing import Any

from flightpath.errors import UsageError
from results.records import RunRecord, RunStatus, Verdict
from results.store.history import Choice

_PLACES = ("axes", "settings", "")
"""Where a plan may have a parameter, in the order in which they are looked at."""


@dataclass(frozen=True)
class RunFilter:
    """What runs must have in common; what is None or empty is not asked.

    Attributes:
        scenario, status, verdict: exactly so; the verdict is that of a run's worst cell.
        machine: a host's name, `*` and `?` standing for anything.
        since, until: when the run began, UTC, both days included.
        parameters: values of the plan's parameters, any of those named for each.
    """

    scenario: str | None = None
    status: RunStatus | None = None
    verdict: Verdict | None = None
    machine: str | None = None
    since: date | None = None
    until: date | None = None
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def choice(self) -> Choice:
        """What of it a query can ask."""
        return Choice(
            scenario=self.scenario,
            status=self.status,
            verdict=self.verdict,
            machine=None if self._machine_is_pattern else self.machine,
            since=_midnight(self.since) if self.since else None,
            before=_midnight(self.until + timedelta(days=1)) if self.until else None,
        )

    @property
    def is_for_a_query(self) -> bool:
        """Whether a query can ask all of it."""
        return not self.parameters and not self._machine_is_pattern

    def keeps(self, plan: Mapping[str, Any], on: str) -> bool:
        """Whether a run with this plan, on this machine, is meant, of those that the query left."""
        return (not self._machine_is_pattern or fnmatchcase(on, self.machine)) and all(
            _has(plan, name, values) for name, values in self.parameters.items()
        )

    @property
    def _machine_is_pattern(self) -> bool:
        return self.machine is not None and any(sign in self.machine for sign in "*?[")

    @classmethod
    def parse(cls, words: Mapping[str, str | Sequence[str] | None]) -> "RunFilter":
        """A filter from texts by field's name, as a command line or a form has them; empty ones ask nothing.

        Raises:
            UsageError: a text is none of the accepted forms.
        """
        return cls(
            scenario=words.get("scenario") or None,
            status=_one_of(RunStatus, "status", words.get("status")),
            verdict=_one_of(Verdict, "verdict", words.get("verdict")),
            machine=words.get("machine") or None,
            since=_day("since", words.get("since")),
            until=_day("until", words.get("until")),
            parameters=_pairs(words.get("where") or ()),
        )


def add_filter_options(parser: argparse.ArgumentParser) -> None:
    """The options of which `RunFilter.parse` makes a filter."""
    parser.add_argument("--scenario", help="only the runs of this scenario")
    parser.add_argument(
        "--where", action="append", default=[], metavar="NAME=VALUE", help="only with this parameter; repeatable"
    )
    parser.add_argument("--machine", metavar="HOST", help="only those of this machine; * and ? stand for anything")
    parser.add_argument("--since", metavar="YYYY-MM-DD", help="only those that began on this day or later")
    parser.add_argument("--until", metavar="YYYY-MM-DD", help="only those that began on this day or earlier")
    parser.add_argument("--verdict", choices=list(map(str, Verdict)), help="only those whose worst cell is this")
    parser.add_argument("--status", choices=list(map(str, RunStatus)), help="only those that ended like this")


def machine(record: RunRecord) -> str:
    """The name of the machine that a run was made on; `-` if the run does not say."""
    return str(record.environment.get("host", "-"))


def _has(plan: Mapping[str, Any], name: str, values: Sequence[str]) -> bool:
    return any(_same(found, value) for found in _found(plan, name) for value in values)


def _found(plan: Mapping[str, Any], name: str) -> Iterator[Any]:
    """The values that a plan gives a parameter; of an axis that it restricts, those that are left."""
    for place in _PLACES:
        facts: Any = plan.get(place) if place else plan
        for level in name.split("."):
            facts = facts.get(level) if isinstance(facts, Mapping) else None
        if facts is None:
            continue
        only = plan.get("only") if place == "axes" else None
        restricted = only.get(name) if isinstance(only, Mapping) else None
        found = facts if isinstance(facts, list) else [facts]
        yield from (value for value in found if not restricted or str(value) in restricted)
        return


def _same(found: Any, asked: str) -> bool:
    if str(found) == asked:
        return True
    try:
        return not isinstance(found, (bool, str)) and float(found) == float(asked)
    except (TypeError, ValueError, OverflowError):
        return False


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _one_of(kind: type, name: str, text: Any) -> Any:
    if not text:
        return None
    try:
        return kind(text)
    except ValueError as error:
        raise UsageError(f"{name}: {text!r} is unknown", f"choose one of {', '.join(map(str, kind))}") from error


def _day(name: str, text: Any) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"{name}: cannot read {text!r}", "accepted form: YYYY-MM-DD, for example 2026-11-21"
        ) from error


def _pairs(texts: Any) -> dict[str, tuple[str, ...]]:
    chosen: dict[str, tuple[str, ...]] = {}
    for text in (texts,) if isinstance(texts, str) else texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"where: cannot read {text!r}", "accepted form: NAME=VALUE, for example protocol=mptcp")
        chosen[name] = (*chosen.get(name, ()), value)
    return chosen
