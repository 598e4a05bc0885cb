"""Drawing of a scenario's figures; if one fails, the others are drawn nevertheless."""

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from results.records import CellResult
from results.store.ownership import give_to_caller, make_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[[Sequence[CellResult]], "Figure | None"]
"""Function that draws a figure of a run's cells; None if they hold no data for it."""

Figures = dict[str, Draw]
"""Figures of a scenario by file name."""

LOG = "figures.log"
"""File in the figures' folder with the tracebacks of those that failed."""


def draw_figures(figures: Mapping[str, Draw], cells: Sequence[CellResult], folder: Path) -> list[Path]:
    """Draws figures as PNG and SVG into a folder, which it makes if necessary; returns the files.

    Reports those that fail on stderr, with their tracebacks in `figures.log`.

    Raises:
        OSError: the folder cannot be written.
    """
    from results.figures import style  # matplotlib, which a list of runs does without

    log = folder / LOG
    log.unlink(missing_ok=True)
    files: list[Path] = []
    for name, draw in figures.items():
        try:
            figure = draw(cells)
            files += style.save(figure, folder, name) if figure is not None else []
        except Exception as error:  # the cells may be of an older version, or from somebody else's file
            make_folder(folder)
            with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{name}:\n{''.join(traceback.format_exception(error))}\n")
            give_to_caller(log)
            print(f"warning: the figure {name} cannot be drawn: {error!r}; see {log}", file=sys.stderr)
    return files


def draw_if_writable(figures: Mapping[str, Draw], cells: Sequence[CellResult], folder: Path) -> list[Path]:
    """Draws figures as `draw_figures`; prints a warning if the folder cannot be written."""
    try:
        return draw_figures(figures, cells, folder)
    except OSError as error:
        print(f"warning: the figures cannot be kept in {folder}: {error.strerror or error}", file=sys.stderr)
        return []
