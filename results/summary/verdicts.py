"""The verdict on several cells, in words."""

import re
from collections.abc import Sequence

from flightpath.clock import Clock
from flightpath.units import counted
from results.records import CellResult, Verdict
from results.statistics.machines import machine_difference

_MAX_NAMED = 2
_SUBJECT = re.compile(r"^(link|path|host) [^:]*: ")
_COUNT = re.compile(r", the worst of \d+$")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
"""Number that is a word, not part of a name such as `h1_a`."""


def overall(cells: Sequence[CellResult]) -> Verdict:
    """Returns the verdict of the worst cell; `unusable` for no cells."""
    return Verdict.worst([cell.certificate.verdict for cell in cells]) if cells else Verdict.UNUSABLE


def badge_text(cells: Sequence[CellResult]) -> str:
    """Returns the verdict on some cells with its reasons: `degraded: a core was never idle (3 of 42 cells)`."""
    if not cells:
        return f"{Verdict.UNUSABLE}: no cell was measured"
    return "; ".join([_verdict_text(cells), *_clocks(cells), *_scales(cells), *_machines(cells)])


def _verdict_text(cells: Sequence[CellResult]) -> str:
    verdict = overall(cells)
    if verdict is Verdict.FAITHFUL:
        return f"{verdict} ({_cells(len(cells))})"
    worst = [cell for cell in cells if cell.certificate.verdict is verdict]
    left_out = "; left out of all means" if verdict is Verdict.UNUSABLE else ""
    parts = [f"{verdict}: {_reasons(worst)} ({len(worst)} of {_cells(len(cells))}{left_out})"]
    degraded = [cell for cell in cells if cell.certificate.verdict is Verdict.DEGRADED]
    if verdict is Verdict.UNUSABLE and degraded:
        parts.append(f"{Verdict.DEGRADED}: {_reasons(degraded)} ({len(degraded)} of {len(cells)})")
    return "; ".join(parts)


def doubts(cells: Sequence[CellResult]) -> list[str]:
    """Returns reservations about some cells: the scale, machines that differ, unusable and degraded cells."""
    sentences = [*_scales(cells), *_machines(cells)]
    for verdict, words in ((Verdict.UNUSABLE, "unusable and left out"), (Verdict.DEGRADED, "degraded")):
        if count := sum(cell.certificate.verdict is verdict for cell in cells):
            sentences.append(f"{count} of {_cells(len(cells))} {'is' if count == 1 else 'are'} {words}")
    return sentences


def _clocks(cells: Sequence[CellResult]) -> list[str]:
    clocks = {cell.clock for cell in cells}
    if Clock.VIRTUAL not in clocks:
        return []
    return ["virtual time"] if len(clocks) == 1 else ["some cells in virtual time, others in real time"]


def _scales(cells: Sequence[CellResult]) -> list[str]:
    scales = sorted({cell.scale for cell in cells})
    if scales in ([], [1.0]):
        return []
    return [f"at {' and '.join(f'{scale:g}' for scale in scales)} of all bandwidths and loads"]


def _machines(cells: Sequence[CellResult]) -> list[str]:
    if (worst := machine_difference(cells)) is None:
        return []
    percent, way = 100 * (worst.factor - 1), "higher" if worst.factor > 1 else "lower"
    return [f"machines differ: {worst.metric} {abs(percent):.0f} % {way} on {worst.host} than on average"]


def _reasons(cells: Sequence[CellResult]) -> str:
    """Returns the most common causes; reasons that differ only in a link, a path, a host or numbers share one."""
    causes: dict[str, list[str]] = {}
    for reason in (reason for cell in cells for reason in dict.fromkeys(cell.certificate.reasons)):
        cause = _NUMBER.sub("#", _COUNT.sub("", _SUBJECT.sub(r"\1: ", reason)))
        causes.setdefault(cause, []).append(reason)
    if not causes:
        return "no reason was recorded"
    commonest = sorted(causes.values(), key=len, reverse=True)
    named = [_with_ranges(reasons) for reasons in commonest[:_MAX_NAMED]]
    more = len(commonest) - len(named)
    return "; ".join([*named, f"and {more} more"] if more > 0 else named)


def _with_ranges(reasons: Sequence[str]) -> str:
    """Merges reasons of one cause, with ranges of the numbers: `no idle time in 91 to 100 % of the seconds`."""
    if len(set(reasons)) == 1:
        return reasons[0]
    reasons = [_COUNT.sub("", _SUBJECT.sub(r"\1s: ", reason)) for reason in reasons]
    columns = zip(*(_NUMBER.findall(reason) for reason in reasons), strict=True)
    ranges = ((min(column, key=float), max(column, key=float)) for column in columns)
    return _NUMBER.sub(lambda _: " to ".join(dict.fromkeys(next(ranges))), reasons[0])


def _cells(count: int) -> str:
    return counted(count, "cell")
