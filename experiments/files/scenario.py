"""The scenario that an experiment file is."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from mininet.topo import Topo

from experiments.files import network
from experiments.files.claims import claim_check
from experiments.files.figures import figures
from experiments.files.keys import InvalidKey, Where
from experiments.files.measures import Measuring
from experiments.files.programs import Program, Programs
from experiments.files.reading import experiment, first_values, line_of, read, with_names
from experiments.files.tables import Experiment, Measure
from experiments.parameters import Axis, PlanRequest
from experiments.plan import Plan
from experiments.scenario import RunningCell, Scenario
from flightpath.clock import Clock, clock_here
from flightpath.errors import UsageError
from flightpath.overrides import override
from flightpath.suggestions import did_you_mean
from results.metrics import metric_kind
from results.records import Cell, Measurement, Metric, ParameterValue
from topologies.links import events
from topologies.links.events import LinkEvent, parse_events

CONTENT, FOLDER = "file", "folder"
"""Settings of a plan: what the file has, and the folder in which it is."""


class FileScenario(Scenario):
    """An experiment file.

    A cell needs no file: the plan has what it says, for guests, clusters, and whoever reads the results.

    Args:
        content: of the file, as JSON values.
        name: name of the experiment, if the file has none.
        folder: in which the file is.

    Raises:
        InvalidKey: something in it makes no sense.
    """

    def __init__(self, content: Mapping[str, Any], name: str, folder: Path) -> None:
        self.content, self.folder = dict(content), folder
        first = experiment(content, first_values(content))
        self.name, self.summary = first.name or name, first.question
        self.__doc__ = "\n\n".join(filter(None, (first.question, first.description.strip())))
        self.headlines = tuple(measure.name for measure in first.measure)
        self.options = ()
        self.axes = tuple(_axis(name, tuple(values)) for name, values in first.parameters.items())
        self.repeats, self.seed = (first.repeat, first.repeat), first.seed
        self.clock = Clock(first.clock)
        self.units = {each.name: _unit(each, number) for number, each in enumerate(first.measure)}
        self.claims = tuple(
            claim_check(each, number, self.units[each.metric]) for number, each in enumerate(first.expect)
        )
        self.figures = figures(self.units, list(first.parameters), first.question)
        self._check(first)

    @classmethod
    def from_file(cls, file: Path) -> Self:
        """Loads a file.

        Raises:
            UsageError: it cannot be read, or something in it makes no sense; with file and line.
        """
        text, content = read(file)
        try:
            return cls(content, re.sub(r"[^a-z0-9_]", "_", file.stem.lower()), file.resolve().parent)
        except InvalidKey as error:
            raise UsageError(f"{file}:{line_of(text, error.where)}: {error.args[0]}", error.hint) from error

    @classmethod
    def of_plan(cls, name: str, settings: Mapping[str, Any]) -> Self:
        """Returns the scenario that a plan was made with.

        Raises:
            InvalidKey: something in the plan makes no sense.
        """
        content, folder = settings.get(CONTENT), settings.get(FOLDER)
        if not isinstance(content, Mapping) or not isinstance(folder, str):
            raise InvalidKey((), f"{name}: the plan has no experiment file")
        return cls(content, name, Path(folder))

    @override
    def settings(self, request: PlanRequest) -> dict[str, Any]:
        return {CONTENT: self.content, FOLDER: str(self.folder)}

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        return network.topology(self._of(cell).network)

    @override
    def testbed_options(self, cell: Cell, plan: Plan) -> Mapping[str, Any]:
        return {"policy": self._of(cell).network.policy}

    @override
    def congestion_control(self, cell: Cell, plan: Plan) -> str | None:
        return self._of(cell).network.congestion_control

    @override
    def link_events(self, cell: Cell, plan: Plan) -> list[LinkEvent]:
        return [*super().link_events(cell, plan), *parse_events(each.text for each in self._of(cell).event)]

    @override
    def endpoints(self, cell: Cell, plan: Plan) -> set[str]:
        return {run.host for run in self._of(cell).run}

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        return self._of(cell).duration

    @override
    def require(self, plan: Plan) -> None:
        if plan.settings[CONTENT] != self.content:
            raise UsageError(
                f"{self.name}: the file says something else than when the run began",
                "begin a new run, or undo the changes of the file",
            )
        for point in {cell.label.rpartition("#")[0]: cell for cell in plan.cells()}.values():
            try:
                self._check(self._of(point))
            except InvalidKey as error:
                raise UsageError(f"{point.label.rpartition(' ')[0]}: {error.args[0]}", error.hint) from error
        super().require(plan)

    @override
    def load(self, run: RunningCell) -> Measurement:
        wanted = self._of(run.cell)
        names = self._names(run.testbed.net.topo)
        folder = run.folder / "programs"
        folder.mkdir()
        programs = [
            Program(each, run.testbed.host(each.host), _command(each.command, names), folder) for each in wanted.run
        ]

        def watch(now_s: float) -> None:
            run.watch.check()
            run.progress(min(1.0, now_s / max(wanted.duration, 1.0)), f"{now_s:.0f} s of the load")
            if wanted.network.congestion_control and not any(run.watch.algorithms.values()):
                run.watch.record_congestion_control()

        began_ns = time.monotonic_ns()
        run.watch.start_events(began_ns)
        with Measuring(wanted.measure, run.testbed) as counted, Programs(programs, began_ns / 1e9) as running:
            running.run(wanted.time_limit, watch)
        metrics = counted.metrics(running.by_name, folder, self.units)
        return Measurement(metrics).merged(_processor_time(running) if clock_here() is Clock.REAL else Measurement())

    def _of(self, cell: Cell) -> Experiment:
        return experiment(self.content, cell.parameters)

    def _check(self, wanted: Experiment) -> None:
        """Raises InvalidKey if something in a cell's experiment does not fit its network."""
        topo = network.topology(wanted.network)
        names = self._names(topo)
        for name in wanted.parameters:
            if name in names:
                raise InvalidKey(("parameters", name), f"parameter {name}: a host or a folder has this name")
        for table in ("run", "measure"):
            for number, each in enumerate(getattr(wanted, table)):
                if each.host is not None and each.host not in topo.hosts():
                    hint = did_you_mean(each.host, topo.hosts())
                    raise InvalidKey((table, number, "host"), f"there is no host {each.host!r}", hint)
        for number, run in enumerate(wanted.run):
            _at(("run", number, "command"), partial(_command, run.command, names))
        for number, event in enumerate(wanted.event):
            _at(("event", number), partial(_check_event, event.text, topo))
        for number, measure in enumerate(wanted.measure):
            if measure.link is not None:
                _at(("measure", number, "link"), partial(events.find, measure.link, events.planned_ends(topo)))

    def _names(self, topo: Topo) -> dict[str, str]:
        """Returns what names in the braces of a command stand for."""
        return {**network.addresses(topo), FOLDER: str(self.folder)}


def _at(where: Where, check: Callable[[], object]) -> None:
    """Calls a check, whose error then says where in the file it is."""
    try:
        check()
    except UsageError as error:
        raise InvalidKey(where, str(error.args[0]), error.hint) from error


def _command(command: str | Sequence[str], names: Mapping[str, str]) -> str | list[str]:
    return with_names(command, names) if isinstance(command, str) else [with_names(word, names) for word in command]


def _processor_time(running: Programs) -> Measurement:
    return Measurement({f"cpu_{name}": Metric(program.cpu_percent, "%") for name, program in running.by_name.items()})


def _check_event(text: str, topo: Topo) -> None:
    events.check(parse_events([text]), topo)


def _axis(name: str, values: tuple[ParameterValue, ...]) -> Axis:
    kind = type(values[0])

    def read(text: str) -> ParameterValue:
        try:
            return text == "true" if kind is bool else kind(text)
        except ValueError as error:
            raise UsageError(f"--{name}: {text!r} is no number", "the file has numbers") from error

    return Axis(name, values, option=f"--{name.replace('_', '-')}", help="a parameter of the file", read=read)


def _unit(measure: Measure, number: int) -> str:
    """Returns the unit of a measure: its own, that of a known metric, or seconds of a time."""
    kind = metric_kind(measure.name)
    unit = measure.unit or (kind.unit if kind else None)
    unit = unit or ("s" if measure.time is not None or measure.file is not None else None)
    if unit is None:
        raise InvalidKey(("measure", number), f"measure {measure.name}: the unit is missing", 'unit = "ms"')
    return unit
