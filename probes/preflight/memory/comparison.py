"""Two sets of measurements beside each other: without it any two different figures would be taken for a finding."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from flightpath.units import format_rate
from probes.preflight.memory.robust import hodges_lehmann


@dataclass(frozen=True)
class Comparison:
    """Two sets of measurements.

    Attributes:
        first_bps, second_bps: the medians.
        change: of the second against the first, as a share of it: the Hodges-Lehmann estimate on logarithms.
        low, high: its 95 % confidence interval; None where there are too few values.
        share_above: of all pairs, how many have the second ahead.
        p_value: of the test of Mann and Whitney.
        counts: how many values there were on each side.
    """

    first_bps: float
    second_bps: float
    change: float
    low: float | None
    high: float | None
    share_above: float
    p_value: float
    counts: tuple[int, int]

    @property
    def clear(self) -> bool:
        """Whether the interval excludes that nothing changed."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def compare(first_bps: Sequence[float], second_bps: Sequence[float]) -> Comparison:
    """By how much the second of two sets of goodputs differs, with an interval that assumes no shape.

    Raises:
        ValueError: a side has no values.
    """
    first, second = ([math.log(each) for each in side] for side in (first_bps, second_bps))
    shift = hodges_lehmann(first, second)
    low, high = (None if bound is None else math.expm1(bound) for bound in (shift.low, shift.high))
    return Comparison(
        math.exp(statistics.median(first)),
        math.exp(statistics.median(second)),
        math.expm1(shift.value),
        low,
        high,
        shift.share_above,
        shift.p_value,
        (len(first), len(second)),
    )


def sentence(found: Comparison, first: str, second: str) -> str:
    """A comparison in plain words, the sides being called what they are called here."""
    rates = f"{second} gave {format_rate(found.second_bps)}, {first} {format_rate(found.first_bps)}"
    if found.low is None or found.high is None:
        few = f"{found.counts[0]} and {found.counts[1]} values"
        return f"{rates}; whether that is more than chance cannot be told from {few}."
    ahead = f"{second} was ahead in {found.share_above:.0%} of all pairs"
    interval = f"{found.change:+.1%} (95 % interval {found.low:+.1%} to {found.high:+.1%}; {ahead})"
    if not found.clear:
        return f"{rates}: {interval}. No difference is proven."
    return f"{rates}: {interval}. {second} is {'faster' if found.change > 0 else 'slower'}."
