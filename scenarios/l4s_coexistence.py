"""L4S beside classic TCP: a scalable flow (DCTCP or Prague) and cubic or BBR over one bottleneck, by its queue."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from mininet.topo import Topo

from experiments.parameters import Axis, Setting, at_least
from experiments.plan import Plan
from experiments.scenario import CellContext, RunningCell, Scenario, Service
from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from flightpath.waiting import wait_until
from probes.counters.sampling import CounterLog, Sampler
from probes.transfers.tcp_flow import FlowTrace, RunningFlow, TcpFlow
from results.figures.charts import curves, looks_of
from results.figures.drawing import Draw, Figures
from results.recording.blocks import append_description
from results.recording.journeys import Journeys
from results.records import Cell, CellResult, Measurement, Metric, Series
from scenarios.congestion.bottleneck_packets import packet_metrics, payload_bytes, recorded
from scenarios.congestion.l4s_claims import COEXISTING, answer, l4s_claims
from scenarios.congestion.prague_flow import IMPLEMENTATION, PRAGUE, PragueFlow, PragueTrace
from scenarios.congestion.race_measures import goodput_bps, throughput
from services.quic.server import QuicServer
from services.stream import StreamSink
from topologies.capture.recorder import Recorder
from topologies.dtn_pair import SOURCE, TARGET, DtnPair
from topologies.links.emulated_link import EmulatedLink
from topologies.links.netem import NetemLink
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.links.texts import read_pairs
from topologies.testbed.testbed import Testbed

FLOWS: Mapping[str, tuple[str, ...]] = {
    COEXISTING: ("dctcp", "cubic"),
    "dctcp+bbr": ("dctcp", "bbr"),
    "cubic": ("cubic",),
    "prague+cubic": (PRAGUE, "cubic"),
    "prague+bbr": (PRAGUE, "bbr"),
}
_QUICK_FLOWS = tuple(FLOWS)[:3]
SCALABLE = ("dctcp", PRAGUE)
QUEUES = ("dualpi2", "pie", "fq_codel", "droptail")

_ENDS: Mapping[bool, tuple[str, str]] = {True: (SOURCE, TARGET), False: ("x1", "y1")}
"""Hosts of a flow that is scalable, and of one that is not: ECN is a setting of a host."""

_ACCURATE_ECN = 3
"""Value of `net.ipv4.tcp_ecn` with which a host asks for accurate feedback (AccECN, RFC 9768), and grants it."""

_SAMPLING_S = 0.02
_MARGIN_S = 0.5


class _Flows:
    """The flows of one cell; times count from `begin_s`, on CLOCK_MONOTONIC."""

    def __init__(self, run: RunningCell) -> None:
        self._run = run
        self._warm_up_s, self._seconds = run.plan.settings["warm_up"], run.plan.settings["seconds"]
        self._bottleneck = _bottleneck(run.testbed)
        self._traces: list[FlowTrace | PragueTrace] = []
        self._queue: CounterLog | None = None
        self._begin_s = self._from_s = self._to_s = 0.0

    def run(self, algorithms: Sequence[str]) -> Measurement:
        """Starts the flows together, and measures them after the warm-up."""
        flows: list[RunningFlow | PragueFlow] = []
        try:
            self._begin_s = time.monotonic()
            for algorithm in algorithms:
                flows.append(self._start(algorithm))
            self._run.watch.record_congestion_control()
            self._wait(self._warm_up_s)
            self._measure()
            self._traces = [flow.finish() for flow in flows]
        finally:
            for flow in flows:
                flow.stop()
        return self._measurement(algorithms)

    def _start(self, algorithm: str) -> RunningFlow | PragueFlow:
        source, target = (self._run.testbed.host(name) for name in _ENDS[algorithm in SCALABLE])
        seconds = self._warm_up_s + self._seconds + _MARGIN_S
        if algorithm == PRAGUE:
            (server,) = (each for each in self._run.services if isinstance(each, QuicServer))
            return PragueFlow(source, server, target.address(), round(self._bandwidth_bps * seconds))
        probe = TcpFlow(congestion_control=algorithm, seconds=seconds, interval_s=_SAMPLING_S)
        return probe.start(source, target.address())

    def _measure(self) -> None:
        """Records the bottleneck, and reads what the kernel knows about its queue, until the time is over."""
        recorder = Recorder(self._run.testbed.net, self._run.folder / "bottleneck", links=[self._bottleneck])
        with ExitStack() as stack:
            stack.enter_context(recorder)
            if self._bottleneck.a_to_b.discipline == "dualpi2":
                assert isinstance(self._bottleneck, NetemLink), "no other emulator has such a queue"
                read = partial(self._bottleneck.queue_statistics, "a_to_b")
                self._queue = stack.enter_context(Sampler(read, _SAMPLING_S)).log
            self._from_s = time.monotonic() - self._begin_s
            self._wait(self._from_s + self._seconds)
            self._to_s = time.monotonic() - self._begin_s
        if not recorder.description or recorder.found.get("missing") or recorder.found.get("full"):
            raise MeasurementFailed(f"the bottleneck's packets were not all recorded: {dict(recorder.found)}")
        append_description(recorder.file, recorder.description)

    def _measurement(self, algorithms: Sequence[str]) -> Measurement:
        packets = recorded(self._run.folder / "bottleneck")
        goodputs = [
            self._goodput_bps(trace, packets, self._sender(algorithm))
            for algorithm, trace in zip(algorithms, self._traces, strict=True)
        ]
        metrics = {"utilisation": Metric(100 * sum(goodputs) / (self._bandwidth_bps * PAYLOAD_SHARE), "%")}
        if len(goodputs) > 1:
            metrics["rate_ratio"] = Metric(goodputs[0] / max(goodputs[1], 1.0), "1")
        series: dict[str, Series] = {}
        for prefix, algorithm, trace, goodput in zip(("", "rival_"), algorithms, self._traces, goodputs, strict=False):
            of_packets = packet_metrics(packets, self._sender(algorithm), prefix)
            metrics |= {f"{prefix}goodput": Metric(goodput, "bit/s"), **of_packets}
            if isinstance(trace, FlowTrace):
                series[f"{prefix}goodput"] = throughput(trace, self._begin_s, self._to_s)
        return Measurement(metrics, {**series, **self._queue_series()})

    def _goodput_bps(self, trace: FlowTrace | PragueTrace, packets: Journeys, sender: str) -> float:
        """Returns the payload that was acknowledged per second; of QUIC that of the packets that passed the link."""
        if isinstance(trace, FlowTrace):
            return goodput_bps(trace, self._begin_s, self._from_s, self._to_s)
        return 8 * trace.payload_share * payload_bytes(packets, sender) / (self._to_s - self._from_s)

    def _sender(self, algorithm: str) -> str:
        return self._run.testbed.host(_ENDS[algorithm in SCALABLE][0]).address()

    @property
    def _bandwidth_bps(self) -> float:
        assert self._bottleneck.a_to_b.bandwidth_bps is not None
        return self._bottleneck.a_to_b.bandwidth_bps

    def _queue_series(self) -> Mapping[str, Series]:
        """Returns the kernel's own view of both queues: how long the packet at the head of each has waited."""
        if self._queue is None:
            return {}
        times = tuple(at_s - self._begin_s for at_s in self._queue.times_s)
        return {
            f"{each}_queue_head": Series("ms", times, tuple(row[f"delay_{each}_us"] / 1e3 for row in self._queue.rows))
            for each in ("l", "c")
        }

    def _wait(self, until_s: float) -> None:
        total_s = self._warm_up_s + self._seconds

        def is_over() -> bool:
            elapsed_s = time.monotonic() - self._begin_s
            self._run.progress(min(1.0, elapsed_s / total_s), "transferring")
            return elapsed_s >= until_s

        wait_until(is_over, "the flows", until_s + 30, check=self._run.watch.check)


def _flows(cell: Cell) -> Sequence[str]:
    return FLOWS[str(cell.parameters["flows"])]


def _bottleneck(testbed: Testbed) -> EmulatedLink:
    (link,) = (link for link in testbed.links if link.a_to_b.bandwidth_bps)
    return link


def _dualpi2(text: str) -> str:
    LinkSpec.parse(discipline="dualpi2", **read_pairs(text))
    return text


def _over_round_trip(metric: str, title: str, y_label: str, flows: str = COEXISTING, scale: float = 1.0) -> Draw:
    """Returns the figure of a metric by round trip and queue, with a plot for each rate."""

    def draw(cells: Sequence[CellResult]) -> Any:
        chosen = [cell for cell in cells if cell.cell.parameters["flows"] == flows]
        rates = {cell.cell.parameters["rate_mbps"] for cell in chosen}
        return curves(
            chosen,
            metric,
            x="rtt_ms",
            by="queue",
            panels="rate_mbps",
            panel_titles={rate: f"{rate} Mbit/s" for rate in rates},
            looks=looks_of(QUEUES),
            scale=scale,
            logarithmic=True,
            title=title,
            x_label="round trip (ms)",
            y_label=y_label,
        )

    return draw


class L4sCoexistence(Scenario):
    """Does L4S keep its promise beside classic TCP?

    A scalable flow shares a bottleneck with cubic or BBR, which do not use ECN. It is DCTCP, with accurate ECN
    feedback, or Prague, which only QUIC has here: an upload with picoquic (`make quic`), in the full form.
    Both start together; after a warm-up, each packet of the bottleneck is recorded. The queue is DualPI2 (RFC 9332),
    PIE, FQ-CoDel, or a plain one of 200 ms. Measured of each flow: goodput, how long its packets wait in the queue,
    marks and drops. `goodput` is that of the first flow, `rival_goodput` that of the second; cubic is also measured
    alone.

    Linux sends DCTCP as ECT(0), so DualPI2 takes any ECT for L4S here. The virtual-time kernel has all of it; on the
    real clock it takes Linux 6.18 or newer, and --emulator netem.

      flightpath run l4s_coexistence                        40 Mbit/s, two round trips
      flightpath run l4s_coexistence --full                 the grid of the papers: hours
      flightpath run l4s_coexistence --full --only flows=prague+cubic --rates 40 --rtts 10,50
      flightpath run l4s_coexistence --rates 4,200 --rtts 100 --only queue=dualpi2 --dualpi2 "coupling=4"
    """

    name = "l4s_coexistence"
    summary = "L4S (DCTCP over DualPI2) beside cubic and BBR: rates, queueing delay, marks, drops"
    headlines = (
        "goodput",
        "rival_goodput",
        "rate_ratio",
        "queue_delay_p50",
        "queue_delay_p99",
        "rival_queue_delay_mean",
        "rival_queue_delay_p99",
        "marked",
        "dropped",
        "rival_dropped",
        "utilisation",
    )
    repeats = (3, 3)
    axes = (
        Axis("queue", ("dualpi2", "pie"), QUEUES),
        Axis("flows", _QUICK_FLOWS, tuple(FLOWS)),
        Axis("rate_mbps", (40,), (4, 40, 120, 200), option="--rates", help="of the bottleneck, in Mbit/s", read=int),
        Axis("rtt_ms", (10, 50), (5, 10, 20, 50, 100), option="--rtts", help="round trips in ms", read=int),
    )
    options = (
        Setting("--seconds", "length of the measurement", 10.0, 30.0, metavar="S", read=at_least("--seconds", 1)),
        Setting("--warm-up", "time before it", 5.0, 15.0, metavar="S", read=at_least("--warm-up", 1)),
        Setting("--queue", "bound of the queue, of each kind", "200ms"),
        Setting("--dualpi2", "options of DualPI2, as of a link: target, tupdate, …", "", "", read=_dualpi2),
    )
    figures = Figures(
        rate_ratio=_over_round_trip("rate_ratio", "Rate of DCTCP over that of cubic", "ratio"),
        queue_delay_p99=_over_round_trip(
            "queue_delay_p99", "DCTCP's packets in the queue, beside cubic", "99th percentile (ms)"
        ),
        rival_queue_delay_p99=_over_round_trip(
            "rival_queue_delay_p99", "Cubic's packets in the queue, beside DCTCP", "99th percentile (ms)"
        ),
        rate_ratio_bbr=_over_round_trip("rate_ratio", "Rate of DCTCP over that of BBR", "ratio", "dctcp+bbr"),
    )
    claims = l4s_claims()

    @override
    def answer(self, cells: Sequence[CellResult]) -> Sequence[str]:
        return answer(cells)

    @override
    def congestion_control(self, cell: Cell, plan: Plan) -> str | None:
        return None  # each flow sets its own, and checks that it has it

    @override
    def algorithms(self, cell: Cell, plan: Plan) -> Sequence[str]:
        return [algorithm for algorithm in _flows(cell) if algorithm != PRAGUE]

    @override
    def require(self, plan: Plan) -> None:
        super().require(plan)
        if any(PRAGUE in _flows(cell) for cell in plan.cells()):
            IMPLEMENTATION.require()

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        return float(plan.settings["warm_up"] + plan.settings["seconds"] + _MARGIN_S)

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        queue = str(cell.parameters["queue"])
        options = {
            "dualpi2": {"l4s": "any_ect", **read_pairs(plan.settings["dualpi2"])},
            "pie": {"ecn": "on"},
            "fq_codel": {"ecn": "on"},
        }
        link = LinkSpec.parse(
            bandwidth=f"{cell.parameters['rate_mbps']}Mbit",
            delay=f"{float(cell.parameters['rtt_ms']) / 2}ms",
            queue=plan.settings["queue"],
            discipline=queue,
            **options.get(queue, {}),
        )
        pair = DtnPair(link=link, cross_traffic=1)
        for host in _ENDS[True]:
            pair.nodeInfo(host)["sysctls"] = {**pair.nodeInfo(host)["sysctls"], "net.ipv4.tcp_ecn": _ACCURATE_ECN}
        return pair

    @override
    def start_services(self, testbed: Testbed, context: CellContext, stack: ExitStack) -> list[Service]:
        services: list[Service] = []
        for algorithm in _flows(context.cell):
            target = testbed.host(_ENDS[algorithm in SCALABLE][1])
            service = (
                QuicServer(target, context.folder, IMPLEMENTATION, congestion_control=PRAGUE)
                if algorithm == PRAGUE
                else StreamSink(target, context.folder)
            )
            services.append(stack.enter_context(service))
        return services

    @override
    def load(self, run: RunningCell) -> Measurement:
        run.watch.start_events()
        return _Flows(run).run(_flows(run.cell))


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(L4sCoexistence())
