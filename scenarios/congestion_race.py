"""Congestion controls race each other over one bottleneck: one's own beside the kernel's, alone and two by two.

No paper's experiment, so it has no claims: it is where a new algorithm is tried.
"""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from mininet.topo import Topo

import congestion
from congestion import sources
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.waiting import wait_until
from probes.transfers import tcp_flow
from probes.transfers.tcp_flow import FlowTrace, RunningFlow, TcpFlow
from results.records import Cell, CellResult, Claim, Measurement, Metric, Series
from scenarios import fidelity
from scenarios.congestion import race_figures as congestion_race_figures
from scenarios.congestion.race_measures import converged_after_s, goodput_bps, jain, throughput
from scenarios.framework import runner
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Context
from scenarios.framework.testbed_scenario import TestbedScenario
from topologies.dtn_pair import SOURCE, TARGET, DtnPair
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.links.texts import short_link
from topologies.testbed.testbed import Testbed

NOBODY = "nobody"
"""Against whom a flow has the link for itself."""

DEFAULT_ALGORITHMS, DEFAULT_LINK = "cubic,bbr,vegas", "100Mbit,20ms,1bdp"
QUICK_SECONDS, FULL_SECONDS = 12.0, 30.0
QUICK_REPEAT, FULL_REPEAT = 1, 3
MIN_SECONDS = 4.0
HEAD_START = 0.25
"""The second flow begins after this share of the time: it has to find its place beside one that has the link."""

INTERVAL_S = 0.01


class CongestionRace(TestbedScenario):
    """The scenario; see its description."""

    name = "congestion_race"
    summary = "congestion controls against each other over one bottleneck: goodput, fairness, delay, loss, convergence"
    programs = ("ss",)
    description = """\
Congestion controls against each other over one bottleneck; your own among them.

Each algorithm has the link for itself (against nobody), and then shares it with a second flow of each algorithm, which
begins when a quarter of the time has passed. From then on is measured: goodput, share and Jain's fairness index, the
round trip beyond the least one, retransmitted segments, and how long it takes until both have the same (index at least
0.9 for a second). The windows' courses are in the figures.

  python -m scenarios.congestion_race --algorithm mine.bpf.c,cubic,bbr --link 100Mbit,20ms,1bdp
  python -m scenarios.congestion_race --only against=nobody       each by itself

A file that ends in .bpf.c is compiled and loaded (root only): congestion/README.md says how to write one."""

    headlines = (
        "goodput",
        "share",
        "fairness",
        "utilisation",
        "rtt_inflation",
        "retransmitted",
        "convergence",
        "idle_cpu",
    )

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds the algorithms, the link and the time."""
        parser.add_argument(
            "--algorithm", default=DEFAULT_ALGORITHMS, metavar="A,B,...", help="names or C files (%(default)s)"
        )
        parser.add_argument(
            "--link", default=DEFAULT_LINK, metavar="LINK", help="BANDWIDTH,DELAY[,QUEUE[,LOSS]] (%(default)s)"
        )
        parser.add_argument(
            "--seconds", type=float, metavar="S", help=f"of each race ({QUICK_SECONDS:g}; full: {FULL_SECONDS:g})"
        )

    def plan(self, options: Namespace) -> Plan:
        """Every algorithm against nobody and against each."""
        full = options.form == "full"
        seconds = options.seconds if options.seconds is not None else FULL_SECONDS if full else QUICK_SECONDS
        if seconds < MIN_SECONDS:
            raise UsageError(f"--seconds: {seconds:g} s is too short", f"at least {MIN_SECONDS:g}")
        short_link(options.link)
        given = _algorithms(options.algorithm)
        axes = {"algorithm": tuple(given), "against": (NOBODY, *given)}
        settings = {"given": given, "link": options.link, "seconds": seconds}
        return self.planned(options, axes, settings, quick_repeat=QUICK_REPEAT, full_repeat=FULL_REPEAT)

    def require(self, plan: Plan) -> None:
        """The testbed's needs, and every algorithm."""
        super().require(plan)
        for cell in plan.cells():
            for name in _names(cell):
                congestion.ensure(plan.settings["given"][name])

    def congestion_control(self, cell: Cell, plan: Plan) -> str | None:
        """None for all: each flow sets its own, and looks whether it has it."""
        return None

    def topology(self, cell: Cell, plan: Plan) -> Topo:
        """Two hosts and the bottleneck between them."""
        return DtnPair(link=short_link(plan.settings["link"]), switched=False)

    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """The race, and starting the testbed."""
        return plan.settings["seconds"] + self.starting_s

    def load(self, testbed: Testbed, watch: fidelity.Watch, cell: Cell, context: Context) -> Measurement:
        """One flow, and after its head start the second."""
        seconds = context.plan.settings["seconds"]
        target = testbed.host(TARGET)
        with tcp_flow.sink(target):
            self.load_begins(testbed, context)
            race = _Race(testbed, watch, context, seconds)
            traces = race.run(_names(cell))
        return _measurement(traces, race.begin_s, seconds, short_link(context.plan.settings["link"]))

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """Windows and goodput over time, and goodput, delay, loss and shares side by side."""
        return congestion_race_figures.figures(list(cells), folder)

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """None: no paper's experiment."""
        return []


class _Race:
    """The flows of one cell."""

    def __init__(self, testbed: Testbed, watch: fidelity.Watch, context: Context, seconds: float) -> None:
        self._source, self._target = testbed.host(SOURCE), testbed.host(TARGET)
        self._watch, self._context, self._seconds = watch, context, seconds
        self.begin_s = 0.0

    def run(self, names: Sequence[str]) -> list[FlowTrace]:
        """Starts them one after the other; all end at the same time."""
        running: list[RunningFlow] = []
        try:
            self.begin_s = time.monotonic()
            running.append(self._start(names[0], self._seconds))
            self._wait(self._seconds * HEAD_START)
            if len(names) > 1:
                running.append(self._start(names[1], self.begin_s + self._seconds - time.monotonic()))
            self._watch.note_congestion_control()
            self._wait(self._seconds)
            return [flow.finish() for flow in running]
        finally:
            for flow in running:
                flow.stop()

    def _start(self, name: str, seconds: float) -> RunningFlow:
        flow = TcpFlow(self._target.address(), congestion_control=name, seconds=seconds, interval_s=INTERVAL_S)
        started = flow.start(self._source)
        if started.used != name:
            started.stop()
            raise MeasurementFailed(f"a connection uses {started.used} instead of {name}")
        return started

    def _wait(self, until_s: float) -> None:
        def elapsed() -> float:
            self._context.progress(min(1.0, (time.monotonic() - self.begin_s) / self._seconds), "racing")
            return time.monotonic() - self.begin_s

        wait_until(lambda: elapsed() >= until_s, "the race to end", until_s + 30, check=self._watch.check)


def _measurement(traces: Sequence[FlowTrace], begin_s: float, seconds: float, link: LinkSpec) -> Measurement:
    """Metrics of the first flow (and of both), from the moment at which the second has begun."""
    since_s = seconds * HEAD_START
    rates = [throughput(trace, begin_s, seconds) for trace in traces]
    until_s = min(trace.times_s[-1] for trace in traces) - begin_s
    goodputs = [goodput_bps(trace, begin_s, since_s, until_s) for trace in traces]
    least_ms = min(trace.min_rtt_ms for trace in traces)
    rtt_ms = _mean([_mean_rtt_ms(trace, begin_s + since_s) for trace in traces])
    metrics = {
        "goodput": Metric(goodputs[0], "bit/s"),
        "utilisation": Metric(100 * sum(goodputs) / (link.bandwidth_bps * PAYLOAD_SHARE), "%"),
        "rtt_inflation": Metric(rtt_ms / least_ms, "1"),
        "retransmitted": Metric(_retransmitted_percent(traces[0]), "%"),
    }
    if len(traces) > 1:
        metrics["share"] = Metric(100 * goodputs[0] / sum(goodputs), "%")
        metrics["fairness"] = Metric(jain(goodputs), "1")
        metrics["rival_goodput"] = Metric(goodputs[1], "bit/s")
        metrics["rival_retransmitted"] = Metric(_retransmitted_percent(traces[1]), "%")
        converged_s = converged_after_s(rates, since_s)
        if converged_s is not None:
            metrics["convergence"] = Metric(converged_s, "s")
    series: dict[str, Series] = {}
    for who, trace, rate in zip(("first", "second"), traces, rates, strict=False):
        seen = trace.series(begin_s)
        series |= {f"cwnd_{who}": seen["cwnd"], f"rtt_{who}": seen["rtt"], f"goodput_{who}": rate}
    return Measurement(metrics, series, {"least_rtt_ms": least_ms, "second_began_s": since_s})


def _mean_rtt_ms(trace: FlowTrace, since_s: float) -> float:
    seen = [us for at_s, us in zip(trace.times_s, trace.columns["rtt_us"], strict=True) if at_s >= since_s]
    return _mean(seen) / 1e3


def _retransmitted_percent(trace: FlowTrace) -> float:
    sent = trace.columns["delivered"][-1] + trace.retransmitted
    return 100 * trace.retransmitted / sent if sent else 0.0


def _algorithms(text: str) -> dict[str, str]:
    """By name, what was given for it: files with their whole path, so that a resumed run finds them."""
    given: dict[str, str] = {}
    for word in filter(None, (word.strip() for word in text.split(","))):
        name = congestion.name_of(word)
        if name in given or name == NOBODY:
            raise UsageError(f"--algorithm: there are two called {name!r}" if name in given else f"{name!r} is nobody")
        given[name] = str(Path(word).resolve()) if sources.is_file(word) else word
    if not given:
        raise UsageError(f"--algorithm: cannot read {text!r}", "accepted form: mine.bpf.c,cubic,bbr")
    return given


def _names(cell: Cell) -> list[str]:
    """The algorithm of each flow."""
    names = [str(cell.parameters["algorithm"]), str(cell.parameters["against"])]
    return names[:1] if names[1] == NOBODY else names


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


if __name__ == "__main__":
    sys.exit(runner.main(CongestionRace()))
