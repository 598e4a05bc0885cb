"""The claims of an experiment file, judged by the rules of `experiments.judging`."""

import re
from collections.abc import Callable, Mapping

from experiments.claims import ClaimCheck, Evidence
from experiments.files.keys import InvalidKey
from experiments.files.tables import Expect
from experiments.judging import ALIKE, LESS, MORE, PERCENT, Found, Range, change, claim, level
from flightpath.errors import UsageError
from flightpath.units import parse_bandwidth, parse_bytes, parse_duration, parse_probability
from results.summary.numbers import scale

_DIRECTIONS = {"more": MORE, "less": LESS, "same": ALIKE}
_SHARE = re.compile(r"(.+?%) of (.+)")
_READERS: Mapping[str, Callable[[str], float]] = {
    "bit/s": parse_bandwidth,
    "B": parse_bytes,
    "s": parse_duration,
    "ms": lambda text: parse_duration(text) * 1e3,
    "%": lambda text: parse_probability(text) * 100,
}


def claim_check(expect: Expect, number: int, unit: str) -> ClaimCheck:
    """Returns the check of a claim.

    Args:
        expect: the claim.
        number: its number in the file, for errors.
        unit: of its metric.

    Raises:
        InvalidKey: a bound is no quantity of the metric's unit.
    """
    shown = "%" if expect.than is not None else unit
    bounds = {name: _bound(expect, name, number, shown) for name in ("least", "most")}
    factor, shown = scale([abs(bound) for bound in bounds.values() if bound is not None], shown)
    if expect.direction is not None:
        wanted, words = _DIRECTIONS[expect.direction], expect.direction
    else:
        least, most = (None if bound is None else bound * factor for bound in bounds.values())
        wanted = Range(float("-inf") if least is None else least, float("inf") if most is None else most)
        words = " and ".join(
            f"{words} {value:g} {shown}"
            for words, value in (("at least", least), ("at most", most))
            if value is not None
        )
    if expect.than is not None:
        words += f" than with {', '.join(f'{name} {value}' for name, value in expect.than.items())}"
    expected = f"{words} ({expect.source})" if expect.source else words
    form = PERCENT if expect.than is not None else f"{{:.4g}} {shown}"
    return claim(expect.claim, expected, lambda evidence: {"": _found(evidence, expect, factor)}, wanted, form=form)


def _found(evidence: Evidence, expect: Expect, factor: float) -> Found:
    if expect.than is None:
        return level(evidence, expect.metric, scale=factor, **expect.where)
    return change(evidence, expect.metric, expect.than, {**expect.where})


def _bound(expect: Expect, name: str, number: int, unit: str) -> float | None:
    value = getattr(expect, name)
    if not isinstance(value, str):
        return None if value is None else float(value)
    try:
        if unit not in _READERS:
            raise UsageError(f"{value!r} is no number of {unit}", "write a number")
        share, whole = match.groups() if (match := _SHARE.fullmatch(value)) else ("100%", value)
        return parse_probability(share, "share") * _READERS[unit](whole)
    except UsageError as error:
        raise InvalidKey(("expect", number, name), f"{name}: {error.args[0]}", error.hint) from error
