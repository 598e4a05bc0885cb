"""What a scenario is: the one contract between an experiment and the runner."""

from abc import ABC, abstractmethod
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from results.records import Cell, CellResult, Claim
from scenarios.plan import Plan

Progress = Callable[[float, str], None]
"""Told while a cell is measured: the fraction that is done (0 to 1), and in a few words what is going on."""


@dataclass(frozen=True)
class Context:
    """What the runner hands to a measurement.

    Attributes:
        plan: the run's plan.
        folder: on the sandbox's own tmpfs, for this cell alone; gone with the sandbox.
        artifacts: the run's folder in the results, for files worth keeping.
        progress: to be called now and then.
    """

    plan: Plan
    folder: Path
    artifacts: Path
    progress: Progress


class Scenario(ABC):
    """One experiment.

    Attributes:
        name: as in `python -m scenarios.NAME`.
        summary: a sentence for the list of scenarios.
        description: for `--help`: what is asked, how it is measured, what comes out.
        headlines: the metrics that a table shows first.
    """

    name: str
    summary: str
    description: str
    headlines: tuple[str, ...]

    @abstractmethod
    def add_options(self, parser: ArgumentParser) -> None:
        """Adds the scenario's own options."""

    @abstractmethod
    def plan(self, options: Namespace) -> Plan:
        """The plan that the options ask for.

        Raises:
            UsageError: an option makes no sense.
        """

    @abstractmethod
    def require(self, plan: Plan) -> None:
        """Raises MissingCapability if the machine lacks something that the plan needs; starts nothing."""

    @abstractmethod
    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """Roughly how many seconds a cell takes, for the time that is left."""

    @abstractmethod
    def measure(self, cell: Cell, context: Context) -> CellResult:
        """Measures one cell, inside the sandbox.

        Raises:
            FlightpathError: it could not be measured; nothing of it is recorded.
        """

    @abstractmethod
    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """Draws the figures from the stored cells alone."""

    @abstractmethod
    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """The paper's claims beside what was measured."""
