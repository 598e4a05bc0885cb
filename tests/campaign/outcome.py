"""Outcome of a part of the campaign: what it tried, what it measured, and what went wrong."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """One line of the campaign.

    Attributes:
        name: of the part, and of what it tried where a part has several lines ("kill: mptcp_load").
        trials: how often it was tried, or how much ("300 kills", "1.2e9 packets").
        figures: what was seen, for a reader ("17 runs resumed, 204 cells kept").
        faults: what was lost, left behind or wrong; a sentence each, with what repeats it. Empty if all is well.
    """

    name: str
    trials: str
    figures: str = ""
    faults: Sequence[str] = ()

    @property
    def line(self) -> str:
        """The outcome in words, for a terminal."""
        figures = f", {self.figures}" if self.figures else ""
        verdict = f"{len(self.faults)} FAULTS" if self.faults else "no fault"
        return f"{self.name}: {self.trials}{figures}: {verdict}"


Part = Callable[[bool], Iterator[Outcome]]
"""A part is a function `run(short)`: short asks for what fits into a minute or less, as CI runs it."""
