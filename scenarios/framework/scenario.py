"""What a scenario is: the one contract between an experiment and the runner."""

from abc import ABC, abstractmethod
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probes.counters.sampling import CounterLog
from results.records import Cell, CellResult, Claim, ParameterValue
from scenarios.framework.plan import Plan, restrictions

Progress = Callable[[float, str], None]
"""Told while a cell is measured: the fraction that is done (0 to 1), and in a few words what is going on."""

_SETTINGS = ("congestion_control", "emulator", "datapath")
"""Options that are settings of every plan; the first is missing where each connection chooses its own."""


@dataclass(frozen=True)
class Context:
    """What the runner hands to a measurement.

    Attributes:
        plan: the run's plan.
        folder: on the sandbox's own tmpfs, for this cell alone; gone with the sandbox.
        artifacts: the run's folder in the results, for files worth keeping.
        progress: to be called now and then.
        sampled: to be handed the counters that are read during the load, for those who look on.
    """

    plan: Plan
    folder: Path
    artifacts: Path
    progress: Progress
    sampled: Callable[[CounterLog], None]


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
        """The plan that the options ask for; changes nothing on the machine.

        Raises:
            UsageError: an option makes no sense.
        """

    def planned(
        self,
        options: Namespace,
        axes: Mapping[str, tuple[ParameterValue, ...]],
        settings: Mapping[str, Any],
        *,
        quick_repeat: int,
        full_repeat: int,
    ) -> Plan:
        """A plan of these axes and settings, and what all plans have.

        Args:
            options: the command line's.
            axes, settings: as in `Plan`; those of the testbed are added.
            quick_repeat, full_repeat: how often each point is measured in either form, if the user does not say.
        """
        usual = full_repeat if options.form == "full" else quick_repeat
        return Plan(
            form=options.form,
            axes=axes,
            settings={**{name: getattr(options, name) for name in _SETTINGS if name in options}, **settings},
            repeat=options.repeat if options.repeat is not None else usual,
            seed=options.seed,
            only=restrictions(options.only),
        )

    def attainable(self, plan: Plan) -> Plan:
        """The plan without what this machine cannot have, which is named on stderr; not asked for a dry run.

        Raises:
            MissingCapability: nothing of it can be had.
        """
        return plan

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
        """The claims of a paper, or its own, beside what was measured."""
