"""Drawing the figures of a scenario one by one, so that one that fails leaves the others."""

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
"""A figure as a function of a run's cells; None if they hold no data for it."""


class Figures(dict[str, Draw]):
    """The figures of a scenario by the names of their files."""


LOG = "figures.log"
"""In the figures' folder: the traceback of each figure that could not be drawn."""


def draw_figures(figures: Mapping[str, Draw], cells: Sequence[CellResult], folder: Path) -> list[Path]:
    """Draws figures as PNG and SVG; those that fail are named on stderr, with their tracebacks in `figures.log`.

    Args:
        figures: the function for each figure, by the name of its files.
        cells: the cells of one run.
        folder: where the files go; made if it is missing.

    Returns:
        The files, in the order of the figures.

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
            _log_traceback(log, name, error)
            print(f"warning: the figure {name} cannot be drawn: {error!r}; see {log}", file=sys.stderr)
    return files


def _log_traceback(log: Path, name: str, error: Exception) -> None:
    make_folder(log.parent)
    with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{name}:\n{''.join(traceback.format_exception(error))}\n")
    give_to_caller(log)
