"""MPTCP against TCP for a loaded web service and its database.

The experiment of Hou et al., "Performance Analysis of MPTCP Under High Load Based on SDN Environment" (2020).
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from mininet.topo import Topo

from experiments.parameters import Axis, Setting, at_least
from experiments.plan import Plan
from experiments.scenario import CellContext, RunningCell, Scenario
from flightpath.commands import postgresql_programs
from flightpath.errors import UsageError
from flightpath.overrides import override
from flightpath.units import counted, parse_duration
from probes.jmeter.probe import require_jmeter
from results.records import Cell, CellResult, Measurement
from scenarios.web_load import words
from scenarios.web_load.arrivals import FULL_LOADS, LOADS_HELP, QUICK_LOADS, Arrivals, arrivals, parse_loads
from scenarios.web_load.claims import mptcp_load_claims
from scenarios.web_load.figures import mptcp_load_figures
from scenarios.web_load.load import WebLoad
from scenarios.web_load.set_up import FACTORS, SetUp
from services.exam.service import ExamService
from topologies.hosts import congestion_control, mptcp_schedulers
from topologies.links.emulated_link import EmulatedLink
from topologies.testbed.testbed import Testbed
from topologies.web_service import DATABASE, WEB


def _duration(option: str, what: str, quick: str, full: str | None = None, least_s: float = 0.0) -> Setting:
    """Returns a setting in seconds."""

    def read(text: str) -> float:
        seconds = parse_duration(text, option)
        if seconds < least_s:
            raise UsageError(f"{option}: {text!r} is less than {1e3 * least_s:g}ms")
        return seconds

    return Setting(option, what, quick, full, f"{option.removeprefix('--').replace('-', '_')}_s", "TIME", read)


_THREADS = Setting("--threads", "maximum number of students", 250, 4000, metavar="N", read=at_least("--threads", 1))
_LONGEST_RAMP = _duration(
    "--longest-ramp", "maximum ramp-up time; lower loads have fewer students", "10s", "160s", 0.001
)


class MptcpLoad(Scenario):
    """MPTCP against TCP under high load, in a software-defined network.

    H1 (JMeter) sends requests to H2 (nginx and an online examination system), which queries H3 (PostgreSQL). Two
    disjoint planes of 50 Mb/s join the three hosts. A thread is a student who makes 20 requests; students arrive evenly
    over the ramp-up time, so a shorter ramp is a higher load (500 to 800 requests/s; 50 for a really low one). Plain
    TCP uses plane a, MPTCP uses both.

    The output is a table per load and protocol with 95 % intervals, the figures, and each claim of the paper with the
    measured value. The quick form has the same links and the paper's lowest and highest load, with fewer students and
    two repetitions; --full is the paper's size (4000 students, eight loads, three repetitions: about two hours).

    Most options take several values, for a study of what matters: the figures `study_…` show it for each of them.

      flightpath run mptcp_load                              the quick form
      flightpath run mptcp_load --only load=800 --repeat 5   one load, five times
      flightpath run mptcp_load --bandwidth 80Mbit,20Mbit --delay 1ms,20ms
                                                                  unequal planes
      flightpath run mptcp_load --page-weight 2k,11k,50k --buffering off,on --clock virtual
                                                                  a study: six combinations
      flightpath run mptcp_load --topology fabric --policy none,single,ecmp,disjoint --loads 800
                                                                  what a controller's decision changes
      flightpath run mptcp_load --loads 500 --event "5s h1-s1 down" --event "10s h1-s1 up"
                                                                  a cut in the middle of the examination
    """

    name = "mptcp_load"
    summary = "MPTCP against TCP under JMeter load on a web service with a database (paper: mptcp-load-sdn)"
    headlines = (
        "requests_per_s",
        "run_time",
        "schedule",
        "errors",
        "lost_writes",
        "latency_service_p50",
        "latency_service_p99",
        "latency_intended_p99",
        "idle_cpu",
    )
    programs = ("nginx", "mptcpize")
    repeats = (2, 3)
    starting_s = 8.0
    axes = (
        Axis("protocol", ("tcp", "mptcp")),
        Axis("load", QUICK_LOADS, FULL_LOADS, option="--loads", help=LOADS_HELP, parse=parse_loads),
    )
    options = (
        _THREADS,
        _LONGEST_RAMP,
        _duration("--pace", "time between a student's requests, if they are answered", "50ms"),
        _duration("--connect-timeout", "timeout of a student's connection", "5s", least_s=0.001),
        _duration("--response-timeout", "timeout of a request", "5s", least_s=0.001),
    )
    factors = FACTORS
    figures = mptcp_load_figures()
    claims = mptcp_load_claims()

    @override
    def scaled(self, plan: Plan, factor: float) -> Plan:
        loads = tuple(dict.fromkeys(max(1, round(factor * float(load))) for load in plan.axes["load"]))
        return replace(plan, axes={**plan.axes, "load": loads}, scale=factor)

    @override
    def carried(self, result: CellResult) -> float:
        return min(1.0, 1 / result.measurement.metrics["run_time_over_schedule"].value)

    @override
    def require(self, plan: Plan) -> None:
        for cell in plan.cells():
            set_up, students = SetUp(cell, plan), _arrivals(cell, plan).students
            set_up.check()
            if students < (clients := len(set_up.clients)):
                load = cell.parameters["load"]
                problem = f"--clients: {clients} hosts for {counted(students, 'student')} (load {load})"
                raise UsageError(problem, "fewer clients, or a larger load")
        shortest_s = min(_arrivals(cell, plan).ramp_s for cell in plan.cells())
        for event in plan.link_events():
            if event.at_s >= shortest_s:
                raise UsageError(f"event {str(event)!r} would not happen: the shortest load takes {shortest_s:g} s")
        mptcp_schedulers.require(name for cell in plan.cells() for name in SetUp(cell, plan).schedulers)
        super().require(plan)
        require_jmeter()
        postgresql_programs()

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        return SetUp(cell, plan).topology()

    @override
    def testbed_options(self, cell: Cell, plan: Plan) -> Mapping[str, Any]:
        return {"policy": SetUp(cell, plan).policy}

    @override
    def link_names(self, testbed: Testbed, cell: Cell, plan: Plan) -> Mapping[str, EmulatedLink]:
        return SetUp(cell, plan).link_names(testbed)

    @override
    def answer(self, cells: Sequence[CellResult]) -> Sequence[str]:
        return words.answer(cells)

    @override
    def start_services(self, testbed: Testbed, context: CellContext, stack: ExitStack) -> list[ExamService]:
        context.progress(0.1, "starting the web service")
        web, database = testbed.host(WEB), testbed.host(DATABASE)
        set_up = SetUp(context.cell, context.plan)
        service = ExamService(
            web,
            database,
            web.address(0),
            database.address(0),
            context.folder / "service",
            more_database_addresses=[database.address(1)] if set_up.joins_expected else [],
            students=_arrivals(context.cell, context.plan).students,
            on_listening=congestion_control.set_on_listeners,
            **set_up.service_options,
        )
        stack.enter_context(service)
        return [service]

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        is_late = cell.parameters["protocol"] == "tcp" and float(cell.parameters["load"]) > 550 * plan.scale
        return _arrivals(cell, plan).ramp_s * (1.35 if is_late else 1.0)

    @override
    def demand(self, cell: Cell, plan: Plan) -> float:
        return float(cell.parameters["load"]) + (cell.parameters["protocol"] == "mptcp")

    @override
    def measured_time_ms(self, measured: Measurement) -> float:
        return measured.metrics["latency_service_p50"].value

    @override
    def load(self, run: RunningCell) -> Measurement:
        (service,) = run.services
        return WebLoad(run, service, SetUp(run.cell, run.plan), _arrivals(run.cell, run.plan)).measure()


def _arrivals(cell: Cell, plan: Plan) -> Arrivals:
    settings = plan.settings
    max_students = plan.scale * settings["threads"]  # so that the ramps are the same at every scale
    return arrivals(float(cell.parameters["load"]), max_students, settings["longest_ramp_s"])


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(MptcpLoad())
