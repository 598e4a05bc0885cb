"""The contract of a scenario: what an experiment defines, and what it gets from this class."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from mininet.topo import Topo

import congestion
from experiments import captures, fidelity, recordings
from experiments.claims import ClaimCheck
from experiments.parameters import CONGESTION_CONTROL, Axis, Factor, PlanRequest, Setting
from experiments.plan import Plan
from flightpath.clock import Clock, clock_here
from flightpath.commands import require
from flightpath.errors import MissingCapability, UsageError
from probes.counters.sampling import CounterLog
from results.comparison.clocks import PATH_BPS
from results.figures.drawing import Figures
from results.metrics import of_network
from results.records import Cell, CellResult, Measurement, ParameterValue
from topologies.links import events
from topologies.links.emulated_link import EmulatedLink
from topologies.links.emulators import choose_emulator, specs_of
from topologies.links.events import LinkEvent
from topologies.links.spec import LinkSpec
from topologies.testbed.capacity import capacity_bps
from topologies.testbed.testbed import Testbed

Progress = Callable[[float, str], None]
"""Called during a measurement with the fraction that is done (0 to 1), and what is going on in a few words."""

_TESTBED_PROGRAMS = ("ovs-vswitchd", "mnexec", "nsenter", "ip")


class Service(Protocol):
    """A service in a host, such as those in `services/`."""

    def check(self) -> None:
        """Raises MeasurementFailed if it has ended."""


@dataclass(frozen=True)
class CellContext:
    """The surroundings of a cell's measurement, provided by the executor.

    Attributes:
        folder: for this cell's files, in the sandbox's own memory; gone with the sandbox.
        artifacts: the run's folder in the results, for files worth keeping.
        progress: to be called now and then.
        on_sampling: gets the log of the counters that are read during the load, when it begins.
    """

    cell: Cell
    plan: Plan
    folder: Path
    artifacts: Path
    progress: Progress
    on_sampling: Callable[[CounterLog], None]


@dataclass(frozen=True)
class RunningCell(CellContext):
    """A cell during its load; `services` are what `Scenario.start_services` returned."""

    testbed: Testbed
    services: Sequence[Any]
    watch: fidelity.Watch


class Scenario(ABC):
    """An experiment: a plan of cells, and for each cell one load on one testbed.

    A subclass says its axes, the topology and the load of a cell, its figures and its claims, and whatever else is its
    own. Its docstring is the text of `--help`: the question, the method, what comes out. Plan, requirements, testbed,
    watch and certificate come with this class. Methods that get a request raise UsageError if a value makes no sense.

    Attributes:
        name: that of the module.
        summary: one sentence for the list of scenarios.
        headlines: the metrics that tables show first.
        figures: the function that draws each figure from a run's cells, by the name of its files.
        programs: programs that must be installed, besides those of every testbed.
        repeats: how often each point is measured in the quick and in the full form.
        seed: of the plan, if the user names none.
        clock: clock of a measurement whose user names none: real if the question is one of processors.
        starting_s: how long a testbed takes to start, to be calibrated and to stop, roughly.
        why_not_scaled: why bandwidths and loads cannot be scaled to the machine, if `scaled` says so.
    """

    name: str
    summary: str
    headlines: tuple[str, ...]
    axes: tuple[Axis, ...] = ()
    options: tuple[Setting, ...] = (CONGESTION_CONTROL,)
    factors: tuple[Factor, ...] = ()
    figures: Figures = Figures()
    claims: tuple[ClaimCheck, ...] = ()
    programs: tuple[str, ...] = ()
    repeats: tuple[int, int] = (1, 3)
    seed: int = 1
    clock: Clock = Clock.VIRTUAL
    starting_s: float = 5.0
    why_not_scaled: str = "windows grow in packets and buffers are given in bytes, so a slower link is another question"

    # What every scenario defines

    @abstractmethod
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        """Returns the network of a cell."""

    @abstractmethod
    def load(self, run: RunningCell) -> Measurement:
        """Applies the load of a cell and returns what was measured, to which `idle_cpu` is added.

        It calls `run.watch.start_events()` when the load begins, `run.watch.check()` now and then, and
        `run.watch.record_congestion_control()` while connections are open.

        Raises:
            MeasurementFailed: the cell cannot be measured; nothing of it is recorded.
        """

    # What it may change

    def axis_values(self, request: PlanRequest) -> dict[str, tuple[ParameterValue, ...]]:
        """Returns the values of each parameter that varies."""
        return {axis.name: axis.chosen(request) for axis in self.axes} | self.varied(request)

    def settings(self, request: PlanRequest) -> dict[str, Any]:
        """Returns whatever else shapes a measurement, as JSON values."""
        varied = self.varied(request)
        fixed = {factor.name: factor.chosen(request)[0] for factor in self.factors if factor.name not in varied}
        return {**dict(setting.chosen(request) for setting in self.options), **fixed}

    def answer(self, cells: Sequence[CellResult]) -> Sequence[str]:
        """Returns what a run found, in a sentence or two; nothing if its cells do not say it."""
        return ()

    def congestion_control(self, cell: Cell, plan: Plan) -> str | None:
        """Returns the algorithm that all connections of a cell should use; None if any may be used."""
        algorithm = cell.parameters.get("congestion_control", plan.settings.get("congestion_control"))
        return None if algorithm is None else str(algorithm)

    def algorithms(self, cell: Cell, plan: Plan) -> Collection[str]:
        """Returns the congestion controls that a cell needs."""
        algorithm = self.congestion_control(cell, plan)
        return [algorithm] if algorithm is not None else []

    def algorithm_source(self, algorithm: str, plan: Plan) -> str:
        """Returns the source of a congestion control for `congestion.ensure`: its name, or its C file."""
        return algorithm

    def load_s(self, cell: Cell, plan: Plan) -> float:
        """Returns how many seconds the load of a cell takes, roughly; by default the setting `seconds`."""
        return plan.settings["seconds"]

    def demand(self, cell: Cell, plan: Plan) -> float:
        """Returns the processor time that a cell needs, on any scale: the heaviest cell is tried first.

        By default it is what all links together can carry, in bit/s.
        """
        links = self.topology(cell, plan).links(withInfo=True)
        specs = [spec for *_, info in links for spec in info.values() if isinstance(spec, LinkSpec)]
        return float(sum(spec.bandwidth_bps or 0 for spec in specs))

    def carried(self, result: CellResult) -> float:
        """Returns the share of its load that a cell carried, from 0 to 1; by default all of it."""
        return 1.0

    def scaled(self, plan: Plan, factor: float) -> Plan:
        """Returns the plan with bandwidths and offered loads so many times as large, in which everything takes as long.

        Raises:
            UsageError: the question would be another one; by default it is.
        """
        raise UsageError(f"--scale: {self.why_not_scaled}", "measure it in virtual time: --clock virtual")

    def testbed_options(self, cell: Cell, plan: Plan) -> Mapping[str, Any]:
        """Returns further arguments for the Testbed."""
        return {}

    def link_names(self, testbed: Testbed, cell: Cell, plan: Plan) -> Mapping[str, EmulatedLink] | None:
        """Returns a name for each link, for logs and certificates; None names them by their interfaces."""
        return None

    def endpoints(self, cell: Cell, plan: Plan) -> Collection[str]:
        """Returns the hosts between which the load is; by default all."""
        return ()

    def start_services(self, testbed: Testbed, context: CellContext, stack: ExitStack) -> Sequence[Service]:
        """Starts what must run before the links are calibrated, until the stack is left; the load watches all of it."""
        return ()

    def link_events(self, cell: Cell, plan: Plan) -> list[LinkEvent]:
        """Returns the planned changes of links during the load: by default those of the plan."""
        return plan.link_events()

    def caused_events(self, cell: Cell, plan: Plan) -> Sequence[LinkEvent]:
        """Returns changes of links by the load itself, whose drops are expected."""
        return ()

    def reasons_unusable(self, measured: Measurement) -> Sequence[str]:
        """Returns why the measurement does not describe the network, although the testbed worked as specified."""
        return ()

    def measured_time_ms(self, measured: Measurement) -> float:
        """Returns the time in ms that the experiment is about, of which a path may add 5 %; 0: there is none."""
        return 0.0

    def goodput_limits_bps(self, cell: Cell, plan: Plan) -> Mapping[str, float]:
        """Returns the maximum payload rate of the links for each metric that is the goodput of a transfer.

        By default there is none. Of a series with the same name, stalls are found too.
        """
        return {}

    # What comes with this class

    def varied(self, request: PlanRequest) -> dict[str, tuple[str, ...]]:
        """Returns the factors that are given several values."""
        return {factor.name: values for factor in self.factors if len(values := factor.chosen(request)) > 1}

    def plan(self, request: PlanRequest) -> Plan:
        """Returns the plan of a request, for this kernel and the real clock; changes nothing on the machine.

        Raises:
            UsageError: a value makes no sense.
        """
        captured: dict[str, Any] = {"capture": list(request.captures)} if request.captures else {}
        if request.is_recorded:
            captured["record"] = True
        own = self.settings(request)
        return Plan(
            form=request.form,
            axes=self.axis_values(request),
            settings={"emulator": request.emulator, "datapath": request.datapath, **captured, **own},
            repeat=request.of_form(*self.repeats) if request.repeat is None else request.repeat,
            seed=request.seed,
            only=request.only,
            events=request.events,
        )

    def without_missing_algorithms(self, plan: Plan) -> Plan:
        """Returns the plan without the congestion controls that this machine neither has nor can load, named on stderr.

        This shortens an axis `congestion_control`; whatever else is missing is an error of `require`.

        Raises:
            MissingCapability: none of the algorithms can be had.
        """
        available, missing = [], []
        for algorithm in map(str, plan.axes.get("congestion_control", ())):
            try:
                congestion.ensure(self.algorithm_source(algorithm, plan))
                available.append(algorithm)
            except MissingCapability as error:
                missing.append(error)
                print(f"skipped: {algorithm}: {error}", file=sys.stderr)
        if missing and not available:
            raise missing[0]
        return replace(plan, axes={**plan.axes, "congestion_control": tuple(available)}) if missing else plan

    def require(self, plan: Plan) -> None:
        """Checks that this machine can measure a plan; starts nothing.

        Raises:
            UsageError: an event does not fit a topology, or the emulator a link.
            MissingCapability: a link emulator, a program or a congestion control is missing.
        """
        specs: set[LinkSpec] = set()
        for cell in plan.cells():
            topology = self.topology(cell, plan)
            events.check(self.link_events(cell, plan), topology)
            captures.check(plan, topology)
            specs |= specs_of(topology)
        recordings.check(plan)
        choose_emulator(plan.settings["emulator"], specs)
        for program in (*self.programs, *_TESTBED_PROGRAMS):
            require(program)
        for algorithm in {name for cell in plan.cells() for name in self.algorithms(cell, plan)}:
            congestion.ensure(self.algorithm_source(algorithm, plan))

    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """Returns how many seconds a cell takes, roughly."""
        return self.starting_s + self.load_s(cell, plan)

    def measure(self, context: CellContext) -> CellResult:
        """Measures a cell, inside the sandbox.

        Raises:
            FlightpathError: the cell cannot be measured; nothing of it is recorded.
        """
        cell, plan = context.cell, context.plan
        context.progress(0.0, "starting the testbed")
        planned, emulator = self.link_events(cell, plan), plan.settings["emulator"]
        topology = self.topology(cell, plan)
        if planned:  # a link that is to change must be emulated, even if it has no limits to begin with
            emulator = choose_emulator(emulator, specs_of(topology))
        options = {**self.testbed_options(cell, plan), "datapath": plan.settings["datapath"], "emulator": emulator}
        with ExitStack() as stack:
            testbed = stack.enter_context(Testbed(topology, **options))
            path_bps = capacity_bps(testbed, self.endpoints(cell, plan))
            with testbed.reporting_component_failure():
                services = self.start_services(testbed, context, stack)
            watch = fidelity.Watch(
                testbed,
                congestion_control=self.congestion_control(cell, plan),
                links=self.link_names(testbed, cell, plan),
                events=planned,
                caused_events=self.caused_events(cell, plan),
                checks=[service.check for service in services],
                on_sampling=context.on_sampling,
            )
            with watch, captures.running(testbed, context) as taken, recordings.running(testbed, context) as recorder:
                measured = self.load(RunningCell(**vars(context), testbed=testbed, services=services, watch=watch))
            measured = measured.merged(Measurement({"idle_cpu": watch.mean_idle_cpu}))
            if clock_here() is Clock.VIRTUAL:
                measured = of_network(measured)
            certificate = watch.certificate(
                self.reasons_unusable(measured),
                self.measured_time_ms(measured),
                measured=measured,
                goodput_limits_bps=self.goodput_limits_bps(cell, plan),
            )
            kept = {**captures.facts(taken), **recordings.facts(recorder)}
            found = {**certificate.found, "scale": plan.scale, PATH_BPS: path_bps, **kept}
            return CellResult(cell, measured, replace(certificate, found=found))
