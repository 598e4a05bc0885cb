"""What experiments on one testbed share: without it each would start, watch and certify it in its own words."""

import time
from abc import abstractmethod
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from mininet.topo import Topo

import congestion
from flightpath.commands import require
from results.records import Cell, CellResult, Measurement
from scenarios import fidelity
from scenarios.plan import Plan
from scenarios.scenario import Context, Scenario
from topologies import events
from topologies.emulators import choose_emulator
from topologies.events import LinkEvent
from topologies.testbed import Testbed


class TestbedScenario(Scenario):
    """A scenario of which each cell is one testbed with one load on it.

    A subclass says which topology a cell has and applies the load; started, calibrated, watched and certified is the
    testbed here.

    Attributes:
        programs: what must be installed.
        starting_s: roughly how long a testbed takes to start, be calibrated and stop.
    """

    __test__ = False  # its name begins with Test; it is none of pytest's

    programs: tuple[str, ...] = ("iperf3",)
    starting_s = 5.0

    @abstractmethod
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        """The network of a cell."""

    @abstractmethod
    def load(self, testbed: Testbed, watch: fidelity.Watch, cell: Cell, context: Context) -> Measurement:
        """Applies the load of a cell and returns what was found; inside the watch.

        It calls `load_begins` when it does, `watch.check()` now and then, and `watch.note_congestion_control()` while
        connections are open.

        Raises:
            MeasurementFailed: it could not be measured.
        """

    def congestion_control(self, cell: Cell, plan: Plan) -> str | None:
        """The algorithm that all connections of a cell should use; None if any will do."""
        return cell.parameters.get("congestion_control", plan.settings.get("congestion_control"))

    def testbed_options(self, cell: Cell, plan: Plan) -> Mapping[str, Any]:
        """Further arguments of the Testbed."""
        return {}

    def load_begins(self, testbed: Testbed, context: Context) -> None:
        """From now on the times of the plan's events count."""
        events.schedule(_events(context.plan), testbed.links, time.monotonic_ns())

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds what all of them have; a subclass adds its own."""
        parser.add_argument(
            "--congestion-control", default="cubic", metavar="NAME", help="of all hosts (default %(default)s)"
        )

    def common_settings(self, options: Namespace) -> dict[str, Any]:
        """The settings that `measure` needs, for the plan of a subclass."""
        return {
            "congestion_control": options.congestion_control,
            "emulator": options.emulator,
            "datapath": options.datapath,
        }

    def require(self, plan: Plan) -> None:
        """Links, programs and congestion controls must be there, and events must fit every topology."""
        for cell in plan.cells():
            events.check(_events(plan), self.topology(cell, plan))
        choose_emulator(plan.settings["emulator"])
        for program in (*self.programs, "ovs-vswitchd", "mnexec", "nsenter", "ip"):
            require(program)
        for algorithm in {self.congestion_control(cell, plan) for cell in plan.cells()} - {None}:
            congestion.ensure(algorithm)

    def measure(self, cell: Cell, context: Context) -> CellResult:
        """One cell: testbed, load, certificate."""
        plan, asked = context.plan, _events(context.plan)
        context.progress(0.0, "starting the testbed")
        # What is to change must be emulated, also if it emulates nothing to begin with.
        emulator = choose_emulator(plan.settings["emulator"]) if asked else plan.settings["emulator"]
        options = self.testbed_options(cell, plan)
        with Testbed(
            self.topology(cell, plan), datapath=plan.settings["datapath"], emulator=emulator, **options
        ) as testbed:
            watch = fidelity.Watch(testbed, congestion_control=self.congestion_control(cell, plan), events=asked)
            with watch:
                measured = self.load(testbed, watch, cell, context)
            return CellResult(cell, measured, watch.certificate())


def _events(plan: Plan) -> list[LinkEvent]:
    return [LinkEvent.parse(text) for text in plan.events]
