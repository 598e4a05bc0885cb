"""MPTCP against TCP under load, on an emulated network with a real web service.

The experiment of Hou et al., "Performance Analysis of MPTCP Under High Load Based on SDN Environment" (2020).
"""

import dataclasses
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import congestion
from flightpath.commands import require
from flightpath.errors import UsageError
from flightpath.units import parse_duration
from probes.counters import links, mptcp
from probes.jmeter.probe import JMeterLoad, LoadProgress, LoadRun, require_jmeter
from results.records import Cell, CellResult, Certificate, Claim, Measurement, Metric, Series
from scenarios import fidelity
from scenarios.framework import runner
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Context, Scenario
from scenarios.web_load import claims as mptcp_load_claims
from scenarios.web_load import figures as mptcp_load_figures
from services import postgres
from services.exam.service import ExamService, SavedAnswer
from topologies.hosts import congestion_control
from topologies.hosts.capture import PacketCapture
from topologies.links import events
from topologies.links.emulators import choose_emulator
from topologies.links.events import LinkEvent
from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed
from topologies.web_service import CLIENT, DATABASE, PLANES, WEB, WebService

REQUESTS_PER_STUDENT = 20
PAPER_THREADS, PAPER_RAMPS_S = 4000, (160.0, 150.0, 140.0, 130.0, 120.0, 110.0, 100.0)
# The least and the highest of the paper's offered loads, with an eighth of the students. Three repetitions of two loads
# tell more than one of six, and a shorter ramp would measure how Java warms up.
QUICK_THREADS, QUICK_RAMPS_S = 500, (20.0, 12.5)
QUICK_REPEAT, FULL_REPEAT = 3, 1
STARTING_S = 8.0
_PLAN_FILE = Path(__file__).parent / "web_load" / "load.jmx"


class MptcpLoad(Scenario):
    """The scenario; see its description."""

    name = "mptcp_load"
    summary = "MPTCP against TCP under JMeter load on a web service with a database (paper: mptcp-load-sdn)"
    description = """\
MPTCP against TCP under high load, in a software-defined network.

H1 (JMeter) asks H2 (nginx and an online examination system), which asks H3 (PostgreSQL). Two disjoint planes of
50 Mb/s join the three. A thread is a student who does 20 requests; students arrive evenly over the ramp-up time,
so a shorter ramp is a higher load (500 to 800 requests/s). Plain TCP uses plane a, MPTCP uses both.

Printed: a table per load and protocol with 95 % intervals, the figures, and each claim of the paper beside what was
measured. The quick form has the same links and the paper's least and highest load, with fewer students, three times
over; --full is the paper's size (4000 students, seven loads, about 40 minutes).

  python -m scenarios.mptcp_load                              the quick form
  python -m scenarios.mptcp_load --only load=800 --repeat 5   one load, five times
  python -m scenarios.mptcp_load --bandwidth 80Mbit,20Mbit --delay 1ms,20ms
                                                              unequal planes"""

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

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds the options of the network and of the load."""
        parser.add_argument("--bandwidth", default="50Mbit", metavar="A[,B]", help="per plane, of a link (50Mbit)")
        parser.add_argument("--delay", default="0", metavar="A[,B]", help="per plane, one way, of a link (0)")
        parser.add_argument("--loss", default="0", metavar="A[,B]", help="per plane, of a link (0)")
        parser.add_argument(
            "--queue", default="1000p", metavar="A[,B]", help="per plane, of a link: 1000p (default), 150kB, 20ms, 1bdp"
        )
        parser.add_argument(
            "--threads", type=int, metavar="N", help=f"students ({QUICK_THREADS}; full: {PAPER_THREADS})"
        )
        parser.add_argument("--ramps", metavar="S,S,...", help="ramp-up times in seconds; load = 20 x threads / ramp")
        parser.add_argument("--pace", default="50ms", help="between a student's requests, if they are answered (50ms)")
        parser.add_argument("--connect-timeout", default="5s", help="of a student's connection (5s)")
        parser.add_argument("--response-timeout", default="5s", help="of a request (5s)")
        parser.add_argument("--congestion-control", default="cubic", help="of all hosts (cubic, as in the paper)")
        parser.add_argument("--capture", metavar="HOST", help="keep a packet capture of h1, h2 or h3 with the results")

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        full = options.form == "full"
        threads = options.threads if options.threads is not None else PAPER_THREADS if full else QUICK_THREADS
        if threads < 1:
            raise UsageError(f"--threads: {threads} is less than 1")
        ramps = _ramps(options.ramps) if options.ramps is not None else PAPER_RAMPS_S if full else QUICK_RAMPS_S
        planes = _per_plane(options)
        if options.capture not in (None, CLIENT, WEB, DATABASE):
            raise UsageError(f"--capture: there is no host {options.capture!r}", f"hosts: {CLIENT}, {WEB}, {DATABASE}")
        loads = {round(threads * REQUESTS_PER_STUDENT / ramp): ramp for ramp in ramps}
        settings = {
            "threads": threads,
            "ramp_s": {str(load): ramp for load, ramp in loads.items()},
            "planes": [vars(spec) for spec in planes],
            "pace_s": parse_duration(options.pace, "--pace"),
            "connect_timeout_s": _timeout(options.connect_timeout, "--connect-timeout"),
            "response_timeout_s": _timeout(options.response_timeout, "--response-timeout"),
            "capture": options.capture,
        }
        axes = {"protocol": ("tcp", "mptcp"), "load": tuple(loads)}
        return self.planned(options, axes, settings, quick_repeat=QUICK_REPEAT, full_repeat=FULL_REPEAT)

    def require(self, plan: Plan) -> None:
        """Links, JMeter, daemons and congestion control must be possible here, and events must fit the links."""
        _check_events(plan)
        choose_emulator(plan.settings["emulator"])
        require_jmeter()
        postgres.programs()
        for program in ("nginx", "mptcpize", "ovs-vswitchd", "mnexec", "nsenter", "ip"):
            require(program)
        if plan.settings["capture"]:
            require("tcpdump")
        congestion.ensure(plan.settings["congestion_control"])

    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """The ramp, a third more where TCP cannot keep up, and starting everything."""
        late = 1.35 if cell.parameters["protocol"] == "tcp" and float(cell.parameters["load"]) > 550 else 1.0
        return plan.settings["ramp_s"][str(cell.parameters["load"])] * late + STARTING_S

    def measure(self, cell: Cell, context: Context) -> CellResult:
        """One load over one protocol."""
        settings = context.plan.settings
        is_mptcp = cell.parameters["protocol"] == "mptcp"
        topology = WebService(
            planes=_planes(context.plan),
            mptcp=is_mptcp,
            congestion_control=settings["congestion_control"],
        )
        with ExitStack() as stack:
            testbed = stack.enter_context(
                Testbed(topology, datapath=settings["datapath"], emulator=settings["emulator"])
            )
            context.progress(0.1, "starting the web service")
            service = stack.enter_context(_exam_service(testbed, context.folder, settings["threads"], is_mptcp))
            if settings["capture"]:
                stack.enter_context(PacketCapture(testbed.host(settings["capture"]), context.artifacts, cell.label))
            load = _LoadedService(testbed, service, cell, context)
            load.run()
            return CellResult(cell, load.measurement(), load.certificate())

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """The paper's figures 2 to 5, and latency."""
        return mptcp_load_figures.figures(list(cells), folder)

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """The paper's claims."""
        return mptcp_load_claims.claims(list(cells), form)


class _LoadedService:
    """The load on a running service, and everything that is read before, during and after it."""

    _load_run: LoadRun
    _proof: dict[str, Any]

    def __init__(self, testbed: Testbed, service: ExamService, cell: Cell, context: Context) -> None:
        self._testbed = testbed
        self._service = service
        self._cell = cell
        self._context = context
        self._settings = context.plan.settings
        self._is_mptcp = cell.parameters["protocol"] == "mptcp"
        self._events = [LinkEvent.parse(text) for text in context.plan.events]
        self._events_known_at_s: float | None = None
        self.watch = fidelity.Watch(
            testbed,
            congestion_control=self._settings["congestion_control"],
            links={
                f"{host}_{plane}": testbed.link(host, port)
                for host in (CLIENT, WEB, DATABASE)
                for port, plane in enumerate(PLANES)
            },
            events=self._events,
            checks=[service.check],
            sampled=context.sampled,
        )

    def run(self) -> None:
        """Applies the load.

        Raises:
            MeasurementFailed: a part of the testbed, the service or JMeter ended; or MPTCP was not MPTCP.
        """
        # The application's connections to the database are older than the load: for them, count from the start.
        clients = {name: self._testbed.host(name) for name in (CLIENT, WEB)}
        with self.watch:
            self._load_run = self._jmeter().run(
                self._testbed.host(CLIENT), self._context.folder / "jmeter", on_progress=self._on_progress
            )
        self.watch.load_was(self._load_run.started_at_s, self._load_run.ended_at_s)
        self._proof = self._prove_protocol(clients)

    def measurement(self) -> Measurement:
        """All of the cell's figures."""
        loaded = self._load_run.measurement()
        series = {**self._throughputs(), "idle_cpu": self.watch.idle_cpu}
        lost = lost_writes(self._load_run.acknowledged_saves(), self._service.saved_answers())
        metrics = {
            "students": Metric(self._settings["threads"], "1"),
            "lost_writes": Metric(len(lost), "1"),
            "idle_cpu": self.watch.mean_idle_cpu,
            **{f"cpu_{name}": Metric(seconds, "s") for name, seconds in self._service.cpu_seconds().items()},
            **{
                f"throughput_{pair}_mean": Metric(
                    sum(_mean(series[f"throughput_{pair}_{plane}"]) for plane in PLANES), "bit/s"
                )
                for pair in ("h1_h2", "h2_h3")
            },
        }
        facts = {"mptcp": self._proof, "lost_writes": [list(save) for save in lost[:20]]}
        return loaded.merged(Measurement(metrics, series, facts))

    def certificate(self) -> Certificate:
        """The verdict, with the events as they were."""
        certificate = self.watch.certificate()
        return dataclasses.replace(certificate, found={**certificate.found, "events": self._events_as_they_were()})

    def _jmeter(self) -> JMeterLoad:
        return JMeterLoad(
            plan=_PLAN_FILE,
            host=self._testbed.host(WEB).address(0),
            threads=self._settings["threads"],
            ramp_s=self._settings["ramp_s"][str(self._cell.parameters["load"])],
            pace_s=self._settings["pace_s"],
            connect_timeout_s=self._settings["connect_timeout_s"],
            response_timeout_s=self._settings["response_timeout_s"],
            students_csv=self._service.students_csv,
            mptcp=self._is_mptcp,
        )

    def _on_progress(self, progress: LoadProgress) -> None:
        self.watch.check()
        if progress.first_at_s is not None and self._events_known_at_s is None:
            self._events_known_at_s = time.time()
            since_ns = round((self._events_known_at_s - progress.first_at_s) * 1e9)
            events.schedule(self._events, self._testbed.links, time.monotonic_ns() - since_ns)
        if progress.fraction > 0.5 and not self.watch.algorithms:
            self.watch.note_congestion_control()
        errors = f", {progress.errors} errors" if progress.errors else ""
        self._context.progress(0.2 + 0.8 * progress.fraction, f"{progress.requests} requests{errors}")

    def _events_as_they_were(self) -> list[dict[str, Any]]:
        """Each event, and when it happened after the load's beginning, which is seen up to a second late."""
        known_s = (self._events_known_at_s or self._load_run.ended_at_s) - self._load_run.started_at_s
        return [{"event": str(event), "happened_at_s": max(event.at_s, known_s)} for event in self._events]

    def _throughputs(self) -> dict[str, Series]:
        """Answers from H2 to H1, and from H3 to H2, per plane, on the wire."""
        counters = {"h1_h2": (CLIENT, "b_to_a"), "h2_h3": (DATABASE, "a_to_b")}
        during = {"start_s": self._load_run.started_at_s, "end_s": self._load_run.ended_at_s}
        return {
            f"throughput_{pair}_{plane}": self.watch.log.rates(f"{host}_{plane}.{way}", "bit/s", scale=8, **during)
            for pair, (host, way) in counters.items()
            for plane in PLANES
        }

    def _prove_protocol(self, clients: Mapping[str, Any]) -> dict[str, Any]:
        counters = {name: mptcp.read_counters(host) for name, host in clients.items()}
        carried = {
            name: links.carried_bytes(self.watch.log, [f"{name}_{plane}" for plane in PLANES])
            for name in (CLIENT, DATABASE)
        }
        if not self._is_mptcp:
            for name, counted in counters.items():
                mptcp.require_no_mptcp(name, {}, counted)
            links.require_one_path(carried)
            return {"bytes_per_path": carried}
        proof = {name: dict(mptcp.require_mptcp(name, {}, counted)) for name, counted in counters.items()}
        links.require_all_paths(carried)
        return {**proof, "bytes_per_path": carried}


def lost_writes(
    acknowledged: Sequence[tuple[str, int, str]], saved: Sequence[SavedAnswer]
) -> list[tuple[str, int, str]]:
    """The acknowledged saves (account, question, choice) that the database does not hold exactly once."""
    stored = Counter((answer.account, answer.question, answer.choice) for answer in saved)
    return [save for save in acknowledged if stored[save] != 1]


def _exam_service(testbed: Testbed, folder: Path, students: int, is_mptcp: bool) -> ExamService:
    web, database = testbed.host(WEB), testbed.host(DATABASE)
    return ExamService(
        web,
        database,
        web.address(0),
        database.address(0),
        folder / "service",
        more_database_addresses=[database.address(1)] if is_mptcp else [],
        students=students,
        mptcp=is_mptcp,
        on_listening=congestion_control.set_on_listeners,
    )


def _planes(plan: Plan) -> list[LinkSpec]:
    return [LinkSpec(**spec) for spec in plan.settings["planes"]]


def _check_events(plan: Plan) -> None:
    asked = [LinkEvent.parse(text) for text in plan.events]
    events.check(asked, WebService(planes=_planes(plan)))
    shortest_s = min(plan.settings["ramp_s"].values())
    for event in asked:
        if event.at_s >= shortest_s:
            raise UsageError(f"event {str(event)!r}: the shortest load takes {shortest_s:g} s, so it would not happen")


def _per_plane(options: Namespace) -> list[LinkSpec]:
    fields = {}
    for field in ("bandwidth", "delay", "loss", "queue"):
        values = getattr(options, field).split(",")
        if len(values) not in (1, len(PLANES)):
            raise UsageError(
                f"--{field}: {len(values)} values for {len(PLANES)} planes", "give one value, or one per plane"
            )
        fields[field] = values * (len(PLANES) if len(values) == 1 else 1)
    return [LinkSpec.parse(**{field: values[i] for field, values in fields.items()}) for i in range(len(PLANES))]


def _ramps(text: str) -> tuple[float, ...]:
    try:
        ramps = tuple(float(word.removesuffix("s")) for word in text.split(","))
    except ValueError as error:
        raise UsageError(f"--ramps: cannot read {text!r}", "accepted form: 160,150,100 (seconds)") from error
    for ramp in ramps:
        if not 0 < ramp < float("inf"):
            raise UsageError(f"--ramps: a ramp of {ramp:g} s is not possible", "a ramp is longer than 0 s")
    return ramps


def _timeout(text: str, field: str) -> float:
    seconds = parse_duration(text, field)
    if seconds < 0.001:
        raise UsageError(f"{field}: {text!r} is less than 1ms")
    return seconds


def _mean(series: Series) -> float:
    return sum(series.values) / len(series.values) if series.values else 0.0


if __name__ == "__main__":
    sys.exit(runner.main(MptcpLoad()))
