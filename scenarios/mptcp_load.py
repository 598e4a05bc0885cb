"""MPTCP against TCP for a loaded web service and its database.

The experiment of Hou et al., "Performance Analysis of MPTCP Under High Load Based on SDN Environment" (2020).
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from mininet.topo import Topo

from flightpath.commands import require
from flightpath.errors import UsageError
from flightpath.overrides import override
from flightpath.units import parse_duration
from probes.jmeter.probe import require_jmeter
from results.records import Cell, CellResult, Measurement, ParameterValue
from scenarios.framework import runner
from scenarios.framework.plan import CONGESTION_CONTROL, Plan, Setting, at_least
from scenarios.framework.scenario import CellContext, RunningCell, Scenario
from scenarios.web_load import words
from scenarios.web_load.claims import mptcp_load_claims
from scenarios.web_load.figures import mptcp_load_figures
from scenarios.web_load.load import WebLoad
from services import postgres
from services.exam.service import ExamService
from topologies.hosts import congestion_control
from topologies.hosts.capture import PacketCapture
from topologies.links.emulated_link import EmulatedLink
from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed
from topologies.web_service import CLIENT, DATABASE, PLANES, WEB, WebService

REQUESTS_PER_STUDENT = 20
PAPER_THREADS, PAPER_RAMPS_S = 4000, (160.0, 150.0, 140.0, 130.0, 120.0, 110.0, 100.0)
# The lowest and the highest of the paper's offered loads, with an eighth of the students. Three repetitions of two
# loads show more than one of six, and a shorter ramp would measure how Java warms up.
QUICK_THREADS, QUICK_RAMPS_S = 500, (20.0, 12.5)


_THREADS = Setting(
    "--threads", "number of students", QUICK_THREADS, PAPER_THREADS, metavar="N", read=at_least("--threads", 1)
)


def _ramps_by_load(options: Namespace) -> dict[int, float]:
    """The ramp-up time in seconds for each offered load in requests per second."""
    ramps = PAPER_RAMPS_S if options.form == "full" else QUICK_RAMPS_S
    if options.ramps is not None:
        try:
            ramps = tuple(float(word.removesuffix("s")) for word in options.ramps.split(","))
        except ValueError as error:
            hint = "accepted form: 160,150,100 (seconds)"
            raise UsageError(f"--ramps: cannot read {options.ramps!r}", hint) from error
    for ramp in ramps:
        if not 0 < ramp < float("inf"):
            raise UsageError(f"--ramps: a ramp of {ramp:g} s is not possible", "a ramp is longer than 0 s")
    _, threads = _THREADS.chosen(options)
    return {round(threads * REQUESTS_PER_STUDENT / ramp): ramp for ramp in ramps}


def _links_of_planes(options: Namespace) -> list[LinkSpec]:
    fields = {}
    for field in ("bandwidth", "delay", "loss", "queue"):
        values = getattr(options, field).split(",")
        if len(values) not in (1, len(PLANES)):
            counts = f"{len(values)} values for {len(PLANES)} planes"
            raise UsageError(f"--{field}: {counts}", "give one value, or one per plane")
        fields[field] = values * (len(PLANES) if len(values) == 1 else 1)
    return [LinkSpec.parse(**{field: values[i] for field, values in fields.items()}) for i in range(len(PLANES))]


def _duration(option: str, what: str, default: str, least_s: float = 0.0) -> Setting:
    """A setting in seconds."""

    def read(text: str) -> float:
        seconds = parse_duration(text, option)
        if seconds < least_s:
            raise UsageError(f"{option}: {text!r} is less than {1e3 * least_s:g}ms")
        return seconds

    return Setting(option, what, default, name=f"{option.removeprefix('--').replace('-', '_')}_s", read=read)


class MptcpLoad(Scenario):
    """MPTCP against TCP under high load, in a software-defined network.

    H1 (JMeter) sends requests to H2 (nginx and an online examination system), which queries H3 (PostgreSQL). Two
    disjoint planes of 50 Mb/s join the three hosts. A thread is a student who makes 20 requests; students arrive evenly
    over the ramp-up time, so a shorter ramp is a higher load (500 to 800 requests/s). Plain TCP uses plane a, MPTCP
    uses both.

    The output is a table per load and protocol with 95 % intervals, the figures, and each claim of the paper beside the
    measured value. The quick form has the same links and the paper's lowest and highest load, with fewer students and
    three repetitions; --full is the paper's size (4000 students, seven loads, about 40 minutes).

      python -m scenarios.mptcp_load                              the quick form
      python -m scenarios.mptcp_load --only load=800 --repeat 5   one load, five times
      python -m scenarios.mptcp_load --bandwidth 80Mbit,20Mbit --delay 1ms,20ms
                                                                  unequal planes
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
    repeats = (3, 1)
    starting_s = 8.0
    options = (
        CONGESTION_CONTROL,
        _THREADS,
        _duration("--pace", "time between a student's requests, if they are answered", "50ms"),
        _duration("--connect-timeout", "of a student's connection", "5s", least_s=0.001),
        _duration("--response-timeout", "of a request", "5s", least_s=0.001),
    )
    figures = mptcp_load_figures()
    claims = mptcp_load_claims()

    @override
    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        for option, default, what in (
            ("--bandwidth", "50Mbit", "bandwidth"),
            ("--delay", "0", "one-way delay"),
            ("--loss", "0", "loss"),
            ("--queue", "1000p", "queue (1000p, 150kB, 20ms, 1bdp)"),
        ):
            parser.add_argument(
                option, default=default, metavar="A[,B]", help=f"{what} of each link, per plane (default %(default)s)"
            )
        parser.add_argument("--ramps", metavar="S,S,...", help="ramp-up times in seconds; load = 20 x threads / ramp")
        parser.add_argument("--capture", metavar="HOST", help="keep a packet capture of h1, h2 or h3 with the results")

    @override
    def axis_values(self, options: Namespace) -> dict[str, tuple[ParameterValue, ...]]:
        return {"protocol": ("tcp", "mptcp"), "load": tuple(_ramps_by_load(options))}

    @override
    def settings(self, options: Namespace) -> dict[str, Any]:
        if options.capture not in (None, CLIENT, WEB, DATABASE):
            raise UsageError(f"--capture: there is no host {options.capture!r}", f"hosts: {CLIENT}, {WEB}, {DATABASE}")
        return {
            **super().settings(options),
            "ramp_s": {str(load): ramp for load, ramp in _ramps_by_load(options).items()},
            "planes": [vars(spec) for spec in _links_of_planes(options)],
            "capture": options.capture,
        }

    @override
    def require(self, plan: Plan) -> None:
        shortest_s = min(plan.settings["ramp_s"].values())
        for event in plan.link_events():
            if event.at_s >= shortest_s:
                raise UsageError(f"event {str(event)!r} would not happen: the shortest load takes {shortest_s:g} s")
        super().require(plan)
        require_jmeter()
        postgres.programs()
        if plan.settings["capture"]:
            require("tcpdump")

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        return WebService(
            planes=[LinkSpec(**spec) for spec in plan.settings["planes"]],
            mptcp=cell.parameters["protocol"] == "mptcp",
            congestion_control=plan.settings["congestion_control"],
        )

    @override
    def link_names(self, testbed: Testbed) -> Mapping[str, EmulatedLink]:
        return {
            f"{host}_{plane}": testbed.link(host, port)
            for host in (CLIENT, WEB, DATABASE)
            for port, plane in enumerate(PLANES)
        }

    @override
    def answer(self, cells: Sequence[CellResult]) -> Sequence[str]:
        return words.answer(cells)

    @override
    def start_services(self, testbed: Testbed, context: CellContext, stack: ExitStack) -> list[ExamService]:
        context.progress(0.1, "starting the web service")
        web, database = testbed.host(WEB), testbed.host(DATABASE)
        is_mptcp = context.cell.parameters["protocol"] == "mptcp"
        service = ExamService(
            web,
            database,
            web.address(0),
            database.address(0),
            context.folder / "service",
            more_database_addresses=[database.address(1)] if is_mptcp else [],
            students=context.plan.settings["threads"],
            mptcp=is_mptcp,
            on_listening=congestion_control.set_on_listeners,
        )
        stack.enter_context(service)
        if captured := context.plan.settings["capture"]:
            stack.enter_context(PacketCapture(testbed.host(captured), context.artifacts, context.cell.label))
        return [service]

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        late = 1.35 if cell.parameters["protocol"] == "tcp" and float(cell.parameters["load"]) > 550 else 1.0
        return plan.settings["ramp_s"][str(cell.parameters["load"])] * late

    @override
    def demand(self, cell: Cell, plan: Plan) -> float:
        return float(cell.parameters["load"]) + (cell.parameters["protocol"] == "mptcp")

    @override
    def load(self, run: RunningCell) -> Measurement:
        (service,) = run.services
        return WebLoad(run, service).measure()


if __name__ == "__main__":
    runner.main(MptcpLoad())
