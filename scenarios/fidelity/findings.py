"""What a judge hands in: without one form for it each would word and weigh its reasons differently."""

from collections.abc import Sequence

from results.records import Verdict

Finding = tuple[Verdict, str]
"""A ground for a verdict other than `faithful`, in words."""

_NAMED = 2


def told(verdict: Verdict, what: str, cases: Sequence[str]) -> list[Finding]:
    """One finding for all cases of one kind; none without a case. The first few are named, the others counted."""
    if not cases:
        return []
    more = f", and {len(cases) - _NAMED} more" if len(cases) > _NAMED else ""
    return [(verdict, f"{what}: {', '.join(cases[:_NAMED])}{more}")]


def direction_name(link: str, direction: str) -> str:
    """`h1_a, b to a` in a form that fits into a sentence."""
    return f"{link} ({direction.replace('_', ' ')})"
