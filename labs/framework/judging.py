"""Judgements that several labs use."""

from dataclasses import dataclass

from labs.framework.lab import Finding, Work


def answered(
    work: Work, key: str, what: str, truth: float, hint: str, *, within: float = 0.1, points: int = 1
) -> Finding:
    """Judges whether the answer to a question is near a value.

    Args:
        within: tolerance, as a fraction of the value.
    """
    given = work.answers.get(key)
    if given is None:
        return Finding(what, False, f"{key} is not answered", hint, points)
    return Finding(what, abs(given - truth) <= within * abs(truth), f"{key} = {given:g}", hint, points)


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
