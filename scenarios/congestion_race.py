"""Congestion controls against each other over one bottleneck: our own experiment, for new algorithms; no claims."""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from mininet.topo import Topo

import congestion
from congestion import sources
from experiments.parameters import LIST, PlanRequest, Setting, at_least, comma_separated, link_setting
from experiments.plan import Plan
from experiments.scenario import RunningCell, Scenario
from flightpath.errors import UsageError
from flightpath.overrides import override
from flightpath.waiting import wait_until
from probes.transfers.tcp_flow import FlowTrace, RunningFlow, TcpFlow
from results.records import Cell, Measurement, Metric, ParameterValue, Series
from scenarios.congestion.race_figures import NOBODY, race_figures
from scenarios.congestion.race_measures import converged_after_s, goodput_bps, jain, throughput
from services.stream import StreamSink
from topologies.dtn_pair import SOURCE, TARGET, DtnPair
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.links.texts import short_link

DEFAULT_ALGORITHMS = "cubic,bbr,vegas"
HEAD_START = 0.25
"""Fraction of the time after which the second flow begins, and has to compete with one that has the whole link."""

INTERVAL_S = 0.01


class _Race:
    """The flows of one cell; times count from `begin_s`, on CLOCK_MONOTONIC."""

    def __init__(self, run: RunningCell) -> None:
        self._run, self._seconds = run, run.plan.settings["seconds"]
        self.begin_s = 0.0

    def run(self, algorithms: Sequence[str]) -> list[FlowTrace]:
        """Starts the flows one after the other; all end at the same time."""
        flows: list[RunningFlow] = []
        try:
            self.begin_s = time.monotonic()
            flows.append(self._start(algorithms[0], self._seconds))
            self._wait(self._seconds * HEAD_START)
            if len(algorithms) > 1:
                flows.append(self._start(algorithms[1], self.begin_s + self._seconds - time.monotonic()))
            self._run.watch.record_congestion_control()
            self._wait(self._seconds)
            return [flow.finish() for flow in flows]
        finally:
            for flow in flows:
                flow.stop()

    def _start(self, algorithm: str, seconds: float) -> RunningFlow:
        source, target = (self._run.testbed.host(name) for name in (SOURCE, TARGET))
        probe = TcpFlow(congestion_control=algorithm, seconds=seconds, interval_s=INTERVAL_S)
        return probe.start(source, target.address())

    def _wait(self, until_s: float) -> None:
        def elapsed_s() -> float:
            elapsed = time.monotonic() - self.begin_s
            self._run.progress(min(1.0, elapsed / self._seconds), "racing")
            return elapsed

        wait_until(lambda: elapsed_s() >= until_s, "the race to end", until_s + 30, check=self._run.watch.check)


def _measurement(traces: Sequence[FlowTrace], begin_s: float, seconds: float, link: LinkSpec) -> Measurement:
    """Returns the metrics of the first flow, and of both, from the start of the second on."""
    since_s = seconds * HEAD_START
    rates = [throughput(trace, begin_s, seconds) for trace in traces]
    until_s = min(trace.times_s[-1] for trace in traces) - begin_s
    goodputs = [goodput_bps(trace, begin_s, since_s, until_s) for trace in traces]
    shortest_ms = min(trace.min_rtt_ms for trace in traces)
    rtt_ms = statistics.fmean(_mean_rtt_ms(trace, begin_s + since_s) for trace in traces)
    assert link.bandwidth_bps is not None, "short_link reads links that have a bandwidth"
    metrics = {
        "goodput": Metric(goodputs[0], "bit/s"),
        "utilisation": Metric(100 * sum(goodputs) / (link.bandwidth_bps * PAYLOAD_SHARE), "%"),
        "rtt_inflation": Metric(rtt_ms / shortest_ms, "1"),
        "retransmitted_share": Metric(_retransmitted_percent(traces[0]), "%"),
    }
    if len(traces) > 1:
        metrics |= {
            "share": Metric(100 * goodputs[0] / sum(goodputs), "%"),
            "fairness": Metric(jain(goodputs), "1"),
            "rival_goodput": Metric(goodputs[1], "bit/s"),
            "rival_retransmitted_share": Metric(_retransmitted_percent(traces[1]), "%"),
        }
        converged_s = converged_after_s(rates, since_s)
        if converged_s is not None:
            metrics["convergence"] = Metric(converged_s, "s")
    series: dict[str, Series] = {}
    for flow, trace, rate in zip(("first", "second"), traces, rates, strict=False):
        of_trace = trace.series(begin_s)
        series |= {f"cwnd_{flow}": of_trace["cwnd"], f"rtt_{flow}": of_trace["rtt"], f"goodput_{flow}": rate}
    return Measurement(metrics, series, {"least_rtt_ms": shortest_ms, "second_began_s": since_s})


def _mean_rtt_ms(trace: FlowTrace, since_s: float) -> float:
    rtts_us = [us for at_s, us in zip(trace.times_s, trace.columns["rtt_us"], strict=True) if at_s >= since_s]
    return statistics.fmean(rtts_us) / 1e3 if rtts_us else 0.0


def _retransmitted_percent(trace: FlowTrace) -> float:
    sent = trace.columns["delivered"][-1] + trace.retransmissions
    return 100 * trace.retransmissions / sent if sent else 0.0


def _sources(text: str) -> dict[str, str]:
    """Reads the algorithms: the name of each, or the full path of its C file, so that a resumed run finds it."""
    by_name: dict[str, str] = {}
    for source in comma_separated(text):
        name = congestion.name_of(source)
        if name in by_name:
            raise UsageError(f"--algorithm: two algorithms are called {name!r}")
        if name == NOBODY:
            raise UsageError(f"--algorithm: {NOBODY!r} is reserved for races without a second flow")
        by_name[name] = str(Path(source).resolve()) if sources.is_file(source) else source
    if not by_name:
        raise UsageError(f"--algorithm: cannot read {text!r}", "accepted form: mine.bpf.c,cubic,bbr")
    return by_name


class CongestionRace(Scenario):
    """Congestion controls against each other over one bottleneck; your own among them.

    Each algorithm has the link for itself (against nobody), and then shares it with a second flow of each algorithm,
    which begins after a quarter of the time. Measured from then on: goodput, share and Jain's fairness index, the round
    trip over the shortest one, retransmitted segments, and how long it takes until both flows have the same (index at
    least 0.9 for a second). The figures show the windows over time.

      flightpath run congestion_race --algorithm mine.bpf.c,cubic,bbr --link 100Mbit,20ms,1bdp
      flightpath run congestion_race --only against=nobody       each algorithm alone

    A file that ends in .bpf.c is compiled and loaded (root only): congestion/README.md explains how to write one.
    """

    name = "congestion_race"
    summary = "congestion controls against each other over one bottleneck: goodput, fairness, delay, loss, convergence"
    headlines = (
        "goodput",
        "share",
        "fairness",
        "utilisation",
        "rtt_inflation",
        "retransmitted_share",
        "convergence",
        "idle_cpu",
    )
    programs = ("ss",)
    options = (
        Setting(
            "--algorithm",
            "names or C files of congestion controls",
            DEFAULT_ALGORITHMS,
            name="given",
            metavar=LIST,
            read=_sources,
        ),
        link_setting("100Mbit,20ms,1bdp", "the bottleneck"),
        Setting("--seconds", "length of each race", 12.0, 30.0, metavar="S", read=at_least("--seconds", 4)),
    )
    figures = race_figures()

    @override
    def axis_values(self, request: PlanRequest) -> dict[str, tuple[ParameterValue, ...]]:
        names = tuple(self.settings(request)["given"])
        return {"algorithm": names, "against": (NOBODY, *names)}

    @override
    def congestion_control(self, cell: Cell, plan: Plan) -> str | None:
        return None  # each flow sets its own, and checks that it has it

    @override
    def algorithms(self, cell: Cell, plan: Plan) -> list[str]:
        return [str(cell.parameters[flow]) for flow in ("algorithm", "against") if cell.parameters[flow] != NOBODY]

    @override
    def algorithm_source(self, algorithm: str, plan: Plan) -> str:
        return plan.settings["given"][algorithm]

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        return DtnPair(link=short_link(plan.settings["link"]), switched=False)

    @override
    def load(self, run: RunningCell) -> Measurement:
        with StreamSink(run.testbed.host(TARGET), run.folder):
            run.watch.start_events()
            race = _Race(run)
            traces = race.run(self.algorithms(run.cell, run.plan))
        return _measurement(traces, race.begin_s, run.plan.settings["seconds"], short_link(run.plan.settings["link"]))


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(CongestionRace())
