"""Differences between runs other than their metrics: configuration, environment, and testbed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results.records import CellResult, Run, RunRecord

ABSENT = "-"
_PRESENTATION = ("headlines", "question")
_MAX_VALUES = 3


@dataclass(frozen=True)
class Difference:
    """One fact that differs between runs.

    Attributes:
        kind: `plan` (configuration), `environment` (of the machine) or `testbed` (from certificates).
        name: path of the fact, separated by dots.
        values: text for each run; `-` if a run lacks the fact.
    """

    kind: str
    name: str
    values: tuple[str, ...]


def differences(runs: Sequence[Run]) -> list[Difference]:
    """Lists the facts in which runs differ, in the runs' order."""
    kinds = {
        "plan": [_plan_facts(record) for record, _ in runs],
        "environment": [dict(_leaves(record.environment)) for record, _ in runs],
        "testbed": [_testbed_facts(cells) for _, cells in runs],
    }
    return [
        Difference(kind, name, tuple(facts.get(name, ABSENT) for facts in sides))
        for kind, sides in kinds.items()
        for name in dict.fromkeys(name for facts in sides for name in facts)
        if len({facts.get(name, ABSENT) for facts in sides}) > 1
    ]


def _plan_facts(record: RunRecord) -> dict[str, str]:
    plan = {name: value for name, value in record.plan.items() if name not in _PRESENTATION}
    return {"scenario": record.scenario, **dict(_leaves(plan))}


def _testbed_facts(cells: Sequence[CellResult]) -> dict[str, str]:
    """Collects texts and booleans from certificates and metadata; numbers there are measurements."""
    values: dict[str, dict[str, None]] = {}
    for cell in cells:
        facts = {**cell.measurement.metadata, **cell.certificate.found}
        for name, text in _leaves(facts, only_words=True):
            values.setdefault(name, {})[text] = None
    return {name: _several(list(texts)) for name, texts in values.items()}


def _several(texts: Sequence[str]) -> str:
    shown = sorted(texts)[:_MAX_VALUES]
    return ", ".join(shown) + (f" and {len(texts) - _MAX_VALUES} more" if len(texts) > _MAX_VALUES else "")


def _leaves(facts: Mapping[str, Any], prefix: str = "", *, only_words: bool = False) -> Iterator[tuple[str, str]]:
    for key, value in facts.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{name}.", only_words=only_words)
        elif not only_words or isinstance(value, (str, bool)) or _is_setting(key, value):
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _is_setting(key: str, value: Any) -> bool:
    """Returns whether another value is a setting, not a measurement: the longest GSO packet, or a list of words."""
    if key == "max_frame_bytes":
        return True
    return isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)
