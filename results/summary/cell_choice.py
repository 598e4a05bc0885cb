"""The choice of a cell of a run on a command line."""

from collections.abc import Sequence

from results.records import CellResult


def chosen_cells(cells: Sequence[CellResult], words: Sequence[str]) -> list[CellResult]:
    """Returns the cells that somebody means.

    Args:
        cells: all of a run, in the order of measurement.
        words: the number of a cell, from 1; or words of labels, such as `protocol=mptcp` or `#2`.
    """
    if len(words) == 1 and words[0].isdecimal():
        number = int(words[0])
        return list(cells[number - 1 : number])
    return [each for each in cells if set(words) <= set(each.cell.label.split())]
