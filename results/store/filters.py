"""Filters for runs, from a command line or a form."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import Any, TypeVar

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from results.records import RunStatus, Verdict
from results.store.query import RunQuery

_SECTIONS = ("axes", "settings", "")
"""Sections of a plan that may name a parameter, in search order; the last is the plan itself."""

_HIDDEN = ("axes", "settings", "only", "headlines", "question")
"""Parts of a plan that are not parameters under these names."""

_Choice = TypeVar("_Choice", bound=StrEnum)
_Words = Mapping[str, str | Sequence[str] | None]


@dataclass(frozen=True)
class RunFilter:
    """A filter for runs: a query for the database, and accepted values of parameters in their plans."""

    query: RunQuery = field(default_factory=RunQuery)
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def matches(self, plan: Mapping[str, Any]) -> bool:
        return all(
            any(_is_equal(value, text) for value in _values_in(plan, name) for text in texts)
            for name, texts in self.parameters.items()
        )

    def unknown_parameter(self, plans: Iterable[Mapping[str, Any]]) -> str:
        """Returns a hint on the first parameter that no plan has; empty if each is in one."""
        known: set[str] = set()
        for plan in plans:
            known.update(_names_in(plan))
        for name in self.parameters:
            if name not in known:
                return f"no run has a parameter {name!r}: {did_you_mean(name, sorted(known))}"
        return ""

    @classmethod
    def parse(cls, words: _Words) -> "RunFilter":
        """Reads the options of `add_filter_options`, by name; None and empty texts filter nothing."""
        query = RunQuery(
            scenario=_text(words, "scenario"),
            status=_choice(RunStatus, words, "status"),
            verdict=_choice(Verdict, words, "verdict"),
            machine=_text(words, "machine"),
            since=_moment(words, "since", time.min),
            until=_moment(words, "until", time.max),
        )
        return cls(query, _parameters(words.get("where") or ()))


def add_filter_options(parser: argparse._ActionsContainer) -> None:
    """Adds the options that `RunFilter.parse` reads."""
    parser.add_argument("--scenario", metavar="NAME", help="only runs of this scenario")
    parser.add_argument(
        "--where", action="append", default=[], metavar="NAME=VALUE", help="only runs with this parameter; repeatable"
    )
    parser.add_argument("--machine", metavar="HOST", help="only runs made on this machine; * and ? are wildcards")
    parser.add_argument("--since", metavar="YYYY-MM-DD", help="only runs that began on this day (UTC) or later")
    parser.add_argument("--until", metavar="YYYY-MM-DD", help="only runs that began on this day (UTC) or earlier")
    parser.add_argument("--verdict", choices=list(map(str, Verdict)), help="only runs whose worst cell is this")
    parser.add_argument("--status", choices=list(map(str, RunStatus)), help="only runs that ended like this")


def _values_in(plan: Mapping[str, Any], name: str) -> Iterator[Any]:
    """Yields the values that a plan has for a parameter; of a restricted axis, only those that are left."""
    for section in _SECTIONS:
        facts: Any = plan.get(section) if section else plan
        for level in name.split("."):
            facts = facts.get(level) if isinstance(facts, Mapping) else None
        if facts is None:
            continue
        only = plan.get("only") if section == "axes" else None
        restricted = only.get(name) if isinstance(only, Mapping) else None
        values = facts if isinstance(facts, list) else [facts]
        yield from (value for value in values if not restricted or str(value) in restricted)
        return


def _names_in(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yields the names by which `_values_in` finds values in a plan."""
    for section in _SECTIONS:
        yield from _leaves(plan.get(section) if section else {n: v for n, v in plan.items() if n not in _HIDDEN})


def _leaves(facts: Any, prefix: str = "") -> Iterator[str]:
    for name, value in facts.items() if isinstance(facts, Mapping) else ():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _is_equal(value: Any, text: str) -> bool:
    if str(value) == text:
        return True
    try:
        return not isinstance(value, (bool, str)) and float(value) == float(text)
    except (TypeError, ValueError, OverflowError):
        return False


def _text(words: _Words, name: str) -> str | None:
    text = words.get(name) or None
    assert text is None or isinstance(text, str), f"only `where` has several values, not {name}"
    return text


def _choice(kind: type[_Choice], words: _Words, name: str) -> _Choice | None:
    if not (text := _text(words, name)):
        return None
    try:
        return kind(text)
    except ValueError as error:
        raise UsageError(f"{name}: {text!r} is unknown", f"choose one of {', '.join(map(str, kind))}") from error


def _moment(words: _Words, name: str, of_day: time) -> datetime | None:
    if not (text := _text(words, name)):
        return None
    try:
        return datetime.combine(date.fromisoformat(text), of_day, UTC)
    except ValueError as error:
        raise UsageError(
            f"{name}: cannot read {text!r}", "accepted form: YYYY-MM-DD, for example 2026-11-21"
        ) from error


def _parameters(texts: str | Sequence[str]) -> dict[str, tuple[str, ...]]:
    parameters: dict[str, tuple[str, ...]] = {}
    for text in (texts,) if isinstance(texts, str) else texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"where: cannot read {text!r}", "accepted form: NAME=VALUE, for example protocol=mptcp")
        parameters[name] = (*parameters.get(name, ()), value)
    return parameters
