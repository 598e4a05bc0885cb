"""A page with a matrix of sites, in which each cell links to the history of its path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from results.pages import templating
from results.pages.explored import past_chart
from results.records import Series


@dataclass(frozen=True)
class MatrixCell:
    """A cell: its kind (a key of the legend), its words, a longer text, and the anchor of its path or ""."""

    kind: str
    words: str
    title: str
    anchor: str


@dataclass(frozen=True)
class MatrixPath:
    """The history of a path.

    Attributes:
        text: what its newest measurement says.
        goodput: its last measurements, at seconds since 1970.
        notes: what is said of each of them.
        rows: time, goodput, verdict and run of the newest ones, newest first.
    """

    anchor: str
    name: str
    text: str
    settings: str
    goodput: Series
    notes: Sequence[str]
    rows: Sequence[tuple[str, str, str, str]]

    @property
    def chart(self) -> Markup:
        """The description of the goodput over time; empty if it was measured less than twice."""
        if len(self.goodput.values) < 2:
            return Markup()
        return Markup(past_chart(self.name, "goodput", self.goodput, self.notes).json)


def matrix_page(
    title: str,
    summary: str,
    sources: Sequence[str],
    targets: Sequence[str],
    cells: Mapping[tuple[str, str], MatrixCell],
    legend: Mapping[str, tuple[str, str]],
    paths: Sequence[MatrixPath],
) -> str:
    """Returns the page, which needs no other file.

    Args:
        legend: sign and meaning of each kind of cell.
    """
    return templating.file(
        "matrix.html",
        title=title,
        summary=summary,
        sources=sources,
        targets=targets,
        cells=cells,
        legend=legend,
        paths=paths,
    )
