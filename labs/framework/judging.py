"""Judgements that several labs use."""

from dataclasses import dataclass, replace

from labs.framework.lab import Finding, Work


def answered(
    work: Work, key: str, what: str, truth: float | None, hint: str, *, within: float = 0.1, points: int = 1
) -> Finding:
    """Judges whether the answer to a question is near a value.

    Args:
        truth: the value; None if it was to be measured and was not.
        within: tolerance, as a fraction of the value.
    """
    given = work.answers.get(key)
    if truth is None:
        return Finding(what, False, "not measured", hint, points)
    if given is None:
        return Finding(what, False, f"{key} is not answered", hint, points, needs_experiment=False)
    is_near = abs(given - truth) <= within * abs(truth)
    return Finding(what, is_near, f"{key} = {given:g}", hint, points, needs_experiment=False)


@dataclass(frozen=True)
class Limits:
    """Bounds of a measured value.

    Attributes:
        too_low, too_high: hints for values outside the bounds.
    """

    low: float
    high: float
    too_low: str = ""
    too_high: str = ""


def between(what: str, value: float | None, unit: str, limits: Limits, *, points: int = 1) -> Finding:
    """Judges whether a measured value is within limits; a missing value is not."""
    if value is None:
        return Finding(what, False, "not measured", limits.too_low or limits.too_high, points)
    hint = limits.too_low if value < limits.low else limits.too_high
    return Finding(what, limits.low <= value <= limits.high, f"{value:.4g} {unit}", hint, points)


def counting_beside(other: Finding, finding: Finding) -> Finding:
    """Fails a finding that proves nothing if another one failed: on an idle line, a short queue is easy."""
    if other.passed:
        return finding
    return replace(finding, passed=False, evidence=f"{finding.evidence}, but: {other.what} is wrong", hint=other.hint)
