"""The verdict on some cells in words: without it each table, page and figure would word it in its own way."""

from collections import Counter
from collections.abc import Sequence

from results.records import CellResult, Verdict


def overall(cells: Sequence[CellResult]) -> Verdict:
    """The verdict a figure of these cells carries: the worst of them; `unusable` for none at all."""
    return Verdict.worst([cell.certificate.verdict for cell in cells]) if cells else Verdict.UNUSABLE


def badge_text(cells: Sequence[CellResult]) -> str:
    """The verdict on some cells in words, for example `degraded: a core was never idle (3 of 42 cells)`."""
    if not cells:
        return f"{Verdict.UNUSABLE}: no cell was measured"
    verdict = overall(cells)
    if verdict is Verdict.FAITHFUL:
        return f"{verdict} ({_cells(len(cells))})"
    concerned = [cell for cell in cells if cell.certificate.verdict is verdict]
    parts = [f"{verdict}: {_reasons(concerned)} ({len(concerned)} of {_cells(len(cells))}{_left_out(verdict)})"]
    milder = [cell for cell in cells if cell.certificate.verdict is Verdict.DEGRADED]
    if verdict is Verdict.UNUSABLE and milder:
        parts.append(f"{Verdict.DEGRADED}: {_reasons(milder)} ({len(milder)} of {len(cells)})")
    return "; ".join(parts)


def _reasons(cells: Sequence[CellResult], most: int = 2) -> str:
    counted = Counter(reason for cell in cells for reason in dict.fromkeys(cell.certificate.reasons))
    if not counted:
        return "no reason was recorded"
    named = [reason for reason, _ in counted.most_common(most)]
    more = len(counted) - len(named)
    return "; ".join([*named, f"and {more} more"] if more > 0 else named)


def _cells(count: int) -> str:
    return f"{count} cell" if count == 1 else f"{count} cells"


def _left_out(verdict: Verdict) -> str:
    return "; left out of all means" if verdict is Verdict.UNUSABLE else ""
