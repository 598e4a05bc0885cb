"""Figures of a benchmark with their spread, what is demanded of them, and whether it holds."""

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One quantity with a value for each round, and bounds for its median; None demands nothing."""

    section: str
    name: str
    values: list[float]
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def holds(self) -> bool | None:
        """Whether the median is what is demanded; None if nothing is."""
        low, high = self.at_least, self.at_most
        if low is None and high is None:
            return None
        return (low is None or self.median >= low) and (high is None or self.median <= high)

    @property
    def demanded(self) -> str:
        bounds = (("≥", self.at_least), ("≤", self.at_most))
        return " ".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None)


def show(figures: Sequence[Figure]) -> None:
    """Prints the figures as a table, and how busy the machine was with other things."""
    table = Table("", "median", "from, to", "unit", "demanded", "", "n")
    section = ""
    for figure in figures:
        if figure.section != section:
            section = figure.section
            table.add_section()
            table.add_row(f"[bold]{section}", "", "", "", "", "", "")
        mark = {True: "[green]holds", False: "[red]does not hold", None: ""}[figure.holds]
        spread, rounds = f"{_short(min(figure.values))}..{_short(max(figure.values))}", str(len(figure.values))
        table.add_row(figure.name, _short(figure.median), spread, figure.unit, figure.demanded, mark, rounds)
    Console(width=max(Console().width, 120)).print(table)


def machine() -> dict[str, object]:
    return {"kernel": os.uname().release, "cores": os.cpu_count(), "load_average": os.getloadavg()}


def as_json(figures: Sequence[Figure]) -> str:
    rows = [{**vars(each), "median": each.median, "holds": each.holds} for each in figures]
    return json.dumps({"machine": machine(), "figures": rows}, indent=2)


def _short(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"
