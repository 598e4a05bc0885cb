"""Outcome of a part of the campaign: what it tried, what it measured, and what went wrong."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """One line of the campaign, for example "kills: mptcp_load", "80 kills", "17 runs resumed, 204 cells kept".

    A fault is a sentence that says what was lost, left behind or wrong, and what repeats it.
    """

    name: str
    trials: str
    figures: str = ""
    faults: Sequence[str] = ()

    @property
    def line(self) -> str:
        figures = f", {self.figures}" if self.figures else ""
        verdict = f"{len(self.faults)} FAULTS" if self.faults else "no fault"
        return f"{self.name}: {self.trials}{figures}: {verdict}"


Part = Callable[[bool], Iterator[Outcome]]
"""A part is a function `run(short)`: short asks for what fits into a minute or less, as CI runs it."""
