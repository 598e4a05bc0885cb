"""The form in which each judge of the testbed reports what it found."""

from collections.abc import Iterable
from typing import NamedTuple

from results.records import Verdict

_MOST_NAMED = 2


class Finding(NamedTuple):
    """A reason, in a sentence, for a verdict other than `faithful`."""

    verdict: Verdict
    reason: str


class Fault(NamedTuple):
    """A fault of one link or path; faults of one kind become one finding."""

    kind: str
    verdict: Verdict
    sentence: str


def summarise(faults: Iterable[Fault]) -> list[Finding]:
    """Returns one finding for all faults of one kind and verdict: the first few in words, the others counted."""
    sentences: dict[tuple[str, Verdict], list[str]] = {}
    for fault in faults:
        sentences.setdefault((fault.kind, fault.verdict), []).append(fault.sentence)
    return [Finding(verdict, _joined(of_kind)) for (_, verdict), of_kind in sentences.items()]


def direction_name(link: str, direction: str) -> str:
    """Returns a direction of a link in a sentence: `link h1_a (a to b)`."""
    return f"link {link} ({direction.replace('_', ' ')})"


def _joined(sentences: list[str]) -> str:
    more = len(sentences) - _MOST_NAMED
    return "; ".join([*sentences[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])
