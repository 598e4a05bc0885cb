"""A figure of matplotlib's that knows its data."""

from dataclasses import replace

from matplotlib.figure import Figure

from results.figures.chart import Chart


class DescribedFigure(Figure):
    """A figure with the description of its data, from which pages draw a chart that one explores."""

    chart: Chart | None = None
    badge: str = ""
    verdict: str = ""

    @property
    def description(self) -> str | None:
        """The chart with the verdict below the figure, as JSON; None if the data are not described."""
        return replace(self.chart, badge=self.badge, verdict=self.verdict).json if self.chart else None
