"""What experiments on one testbed share: without it each would start, watch and certify it in its own words."""

import dataclasses
import threading
import time
from abc import abstractmethod
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mininet.topo import Topo

import congestion
from flightpath.commands import require
from results.records import Cell, CellResult, Certificate, Measurement, Verdict
from scenarios import fidelity
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Context, Scenario
from topologies.links import events
from topologies.links.emulators import choose_emulator
from topologies.links.events import LinkEvent
from topologies.testbed.testbed import Testbed

_NOTE_S = 0.2


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
        """Applies the load of a cell and returns what was found; inside the watch, which adds `idle_cpu`.

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

    def disturbances(self, cell: Cell, plan: Plan) -> list[LinkEvent]:
        """What the load itself may do to links: none of it counts against the testbed."""
        return []

    def objections(self, measured: Measurement) -> list[str]:
        """In words, why what the load found is no figure of the network, although the testbed did what it was told."""
        return []

    def load_begins(self, testbed: Testbed, context: Context) -> None:
        """From now on the times of the plan's events count."""
        events.schedule(_events(context.plan), testbed.links, time.monotonic_ns())

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds what all of them have; a subclass adds its own."""
        parser.add_argument(
            "--congestion-control", default="cubic", metavar="NAME", help="of all hosts (default %(default)s)"
        )

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
            watch = fidelity.Watch(
                testbed,
                congestion_control=self.congestion_control(cell, plan),
                events=[*asked, *self.disturbances(cell, plan)],
                sampled=context.sampled,
            )
            with watch:
                measured = self.load(testbed, watch, cell, context)
            measured = measured.merged(Measurement({"idle_cpu": watch.mean_idle_cpu}))
            return CellResult(cell, measured, _objected(watch.certificate(), self.objections(measured)))


@contextmanager
def noting_congestion_control(watch: fidelity.Watch, host: str) -> Iterator[None]:
    """Notes what connections use as soon as the host has any, while a block waits for a probe to end."""
    ended = threading.Event()

    def note() -> None:
        while not watch.algorithms.get(host) and not ended.wait(_NOTE_S):
            watch.note_congestion_control()

    thread = threading.Thread(target=note, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _objected(certificate: Certificate, objections: Sequence[str]) -> Certificate:
    if not objections:
        return certificate
    return dataclasses.replace(certificate, verdict=Verdict.UNUSABLE, reasons=(*objections, *certificate.reasons))


def _events(plan: Plan) -> list[LinkEvent]:
    return [LinkEvent.parse(text) for text in plan.events]
