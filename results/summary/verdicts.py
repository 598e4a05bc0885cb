"""The verdict on several cells, in words."""

from collections import Counter
from collections.abc import Sequence

from flightpath.clock import Clock
from results.records import CellResult, Verdict


def overall(cells: Sequence[CellResult]) -> Verdict:
    """Returns the verdict on a figure made of these cells: that of the worst; `unusable` for no cells."""
    return Verdict.worst([cell.certificate.verdict for cell in cells]) if cells else Verdict.UNUSABLE


def badge_text(cells: Sequence[CellResult]) -> str:
    """Returns the verdict on some cells with its reasons: `degraded: a core was never idle (3 of 42 cells)`."""
    if not cells:
        return f"{Verdict.UNUSABLE}: no cell was measured"
    return "; ".join([_verdict_text(cells), *_clocks(cells)])


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
    """Returns a sentence on the unusable cells, and one on the degraded ones, where there are any."""
    sentences = []
    for verdict, words in ((Verdict.UNUSABLE, "unusable and left out"), (Verdict.DEGRADED, "degraded")):
        if count := sum(cell.certificate.verdict is verdict for cell in cells):
            sentences.append(f"{count} of {_cells(len(cells))} {'is' if count == 1 else 'are'} {words}")
    return sentences


def _clocks(cells: Sequence[CellResult]) -> list[str]:
    clocks = {cell.clock for cell in cells}
    if Clock.VIRTUAL not in clocks:
        return []
    return ["virtual time"] if len(clocks) == 1 else ["some cells in virtual time, others in real time"]


def _reasons(cells: Sequence[CellResult], most: int = 2) -> str:
    counted = Counter(reason for cell in cells for reason in dict.fromkeys(cell.certificate.reasons))
    if not counted:
        return "no reason was recorded"
    named = [reason for reason, _ in counted.most_common(most)]
    more = len(counted) - len(named)
    return "; ".join([*named, f"and {more} more"] if more > 0 else named)


def _cells(count: int) -> str:
    return f"{count} cell" if count == 1 else f"{count} cells"
