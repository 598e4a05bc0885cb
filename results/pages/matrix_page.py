"""A page with a matrix of sites, in which each cell links to the history of its path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.pages import templating
from results.records import Series
from results.summary.numbers import scale, short


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
        rows: time, goodput, verdict and run of the newest ones, newest first.
    """

    anchor: str
    name: str
    text: str
    settings: str
    goodput: Series
    rows: Sequence[tuple[str, str, str, str]]

    @property
    def drawn(self) -> Mapping[str, str]:
        """The goodput as points of a line in a box of 480 x 60, from zero on, with the bounds in words."""
        times, values = self.goodput.times_s, self.goodput.values
        span, most = (times[-1] - times[0]) or 1.0, max(values) or 1.0
        points = (
            f"{(at - times[0]) / span * 480:.1f},{59 - value / most * 58:.1f}"
            for at, value in zip(times, values, strict=True)
        )
        factor, unit = scale(values, self.goodput.unit)
        least, highest = (short(pick(values) * factor) for pick in (min, max))
        return {"line": " ".join(points), "least": least, "most": highest, "unit": unit}


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
    script = templating.asset("tables.js")
    template = templating.environment().get_template("matrix.html")
    return templating.encodable(
        template.render(
            title=title,
            summary=summary,
            sources=sources,
            targets=targets,
            cells=cells,
            legend=legend,
            paths=paths,
            stylesheet=templating.asset("page.css"),
            script=script,
            policy=templating.policy(f"\n{script}"),
        )
    )
