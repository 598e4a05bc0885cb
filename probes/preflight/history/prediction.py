"""Predictions of a path's next measurement from those before it, and the quality of such predictions."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

COVERAGE = 0.9
"""Default share of the intervals that contain the value they predict."""

WINDOW = 60
"""Number of newest one-step errors that give the interval."""

RECENT, MISSED = 3, 2
"""A path has just changed if so many of the newest values missed their intervals on the same side."""

SMOOTHING = 0.3
"""Weight of the newest value in exponential smoothing."""


@dataclass(frozen=True)
class Prediction:
    """A value to be expected.

    Attributes:
        low, high: its prediction interval; None if the history is too small for one.
        count: number of values behind the prediction.
    """

    value: float
    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True)
class BackTest:
    """Predictions of each value of a history from those before it.

    Attributes:
        count: number of values that were predicted with an interval, while the path was settled.
        held: number of intervals that contained their value.
        unknown: number of values before which nothing would have been predicted, because the path had just changed.
        width: median ratio of the intervals' highest and lowest value.
        errors: median relative error of all values by rule: 0.1 is 10 %.
    """

    count: int
    held: int
    unknown: int
    width: float
    errors: Mapping[str, float]

    @property
    def coverage(self) -> float:
        """The share of intervals that contained the value."""
        return self.held / self.count


def needed(coverage: float = COVERAGE) -> int:
    """Returns how many values an interval needs: with fewer errors, conformal ones are infinite."""
    return math.ceil(coverage / (1 - coverage) - 1e-9) + 1


def predict(values: Sequence[float], coverage: float = COVERAGE) -> Prediction:
    """Predicts the next of some positive values (oldest first), with a prediction interval.

    The expected value is found by exponential smoothing of the logarithms, one of the predictors that He, Dovrolis and
    Ammar recommend for the throughput of TCP (*On the Predictability of Large Transfer TCP Throughput*, 2005). The
    interval is conformal (Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World*, 2005): it reaches to
    the ceil((n + 1) coverage)-th smallest of the last n <= `WINDOW` errors that the same rule made. So it assumes no
    distribution, only that the next error is like those; a step is outside of it, and widens it until the errors of
    the step have left the window.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("there is nothing to predict from")
    logs = [math.log(each) for each in values[-2 * WINDOW :]]  # before that, a value has no weight left
    levels = _levels(logs)
    errors = sorted(abs(log - level) for log, level in zip(logs[1:][-WINDOW:], levels[:-1][-WINDOW:], strict=True))
    centre, rank = levels[-1], math.ceil((len(errors) + 1) * coverage - 1e-9)
    if rank > len(errors):
        return Prediction(math.exp(centre), None, None, len(values))
    reach = errors[rank - 1]
    return Prediction(math.exp(centre), math.exp(centre - reach), math.exp(centre + reach), len(values))


def has_just_changed(values: Sequence[float], coverage: float = COVERAGE) -> bool:
    """Returns whether the newest values (oldest first) missed their intervals on the same side, as after a step."""
    moments = range(max(needed(coverage), len(values) - RECENT), len(values))
    return _is_change([_side(predict(values[:now], coverage), values[now]) for now in moments])


def _is_change(sides: Sequence[int]) -> bool:
    recent = list(sides[-RECENT:])
    return max(recent.count(side) for side in (-1, 1)) >= MISSED


def _side(expected: Prediction, truth: float) -> int:
    """Returns -1 for a value below its interval, 1 above, 0 within; rounding does not count."""
    if expected.low is None or expected.high is None:
        return 0
    return (truth > expected.high * (1 + 1e-9)) - (truth < expected.low * (1 - 1e-9))


def _levels(logs: Sequence[float]) -> list[float]:
    """Returns the smoothed level after each value; it begins as a plain mean."""
    levels = [logs[0]]
    for number, log in enumerate(logs[1:], start=2):
        levels.append(levels[-1] + max(SMOOTHING, 1 / number) * (log - levels[-1]))
    return levels


RULES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "prediction": lambda before: predict(before).value,
    "last value": lambda before: before[-1],
    "mean": statistics.fmean,
}
"""Methods that a back-test compares: the prediction, and two simple rules."""


def back_test(values: Sequence[float], coverage: float = COVERAGE) -> BackTest | None:
    """Replays a history (oldest first); returns None if it is too short for an interval and a value to test it."""
    start = needed(coverage)
    if len(values) <= start:
        return None
    moments = range(start, len(values))
    predictions = [predict(values[:now], coverage) for now in moments]
    sides = [_side(expected, values[now]) for expected, now in zip(predictions, moments, strict=True)]
    settled = [number for number in range(len(sides)) if not _is_change(sides[:number])]
    bounds = [(each.low, each.high) for each in predictions if each.low and each.high]
    return BackTest(
        count=len(settled),
        held=sum(sides[number] == 0 for number in settled),
        unknown=len(sides) - len(settled),
        width=statistics.median(high / low for low, high in bounds),
        errors={
            name: statistics.median(abs(rule(values[:now]) / values[now] - 1) for now in moments)
            for name, rule in RULES.items()
        },
    )
