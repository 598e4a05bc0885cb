"""The form in which each judge of the testbed reports what it found."""

from collections.abc import Iterable
from typing import NamedTuple

from results.records import Verdict


class Finding(NamedTuple):
    """A reason, in a sentence, for a verdict other than `faithful`."""

    verdict: Verdict
    reason: str


class Fault(NamedTuple):
    """A fault of one link or path; faults of one kind become one finding.

    Attributes:
        kind: faults of one kind have one cause.
        size: how large it is, in any unit of its kind.
    """

    kind: str
    verdict: Verdict
    subject: str
    sentence: str
    size: float = 0.0


def summarise(faults: Iterable[Fault]) -> list[Finding]:
    """Returns one finding for all faults of one kind and verdict: the worst in words, the others counted."""
    kinds: dict[tuple[str, Verdict], list[Fault]] = {}
    for fault in faults:
        kinds.setdefault((fault.kind, fault.verdict), []).append(fault)
    findings = []
    for (_, verdict), of_kind in kinds.items():
        worst = max(of_kind, key=lambda fault: fault.size)
        others = f", the worst of {len(of_kind)}" if len(of_kind) > 1 else ""
        findings.append(Finding(verdict, f"{worst.subject}: {worst.sentence}{others}"))
    return findings


def direction_name(link: str, direction: str) -> str:
    """Returns a direction of a link in a sentence: `link h1_a (a to b)`."""
    return f"link {link} ({direction.replace('_', ' ')})"
