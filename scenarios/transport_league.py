"""TCP, MPTCP, QUIC, multipath QUIC and MPT-GRE over pairs of paths: our own experiment."""

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mininet.topo import Topo

from experiments.figures import stacked_metrics
from experiments.parameters import CONGESTION_CONTROL, Axis, PlanRequest, Setting, at_least, one_of
from experiments.plan import Plan
from experiments.scenario import RunningCell, Scenario
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.overrides import override
from probes.counters import links as link_counters
from results.figures import style
from results.figures.charts import bars, looks_of
from results.figures.drawing import Draw, Figures
from results.figures.style import Look
from results.records import Cell, Measurement, Metric, ParameterValue
from scenarios.league.claims import MULTIPATH_QUICS, league_claims
from scenarios.league.paths import PATHS, PathPair
from scenarios.league.workloads import MB, WORKLOADS, Beside, Rival, Workload, over_quic, over_tcp
from services.quic.implementation import Implementation
from services.quic.implementations import IMPLEMENTATIONS
from topologies.hosts import mptcp_schedulers
from topologies.links.emulated_link import EmulatedLink
from topologies.links.events import LinkEvent
from topologies.links.spec import PAYLOAD_SHARE
from topologies.multipath_pair import CLIENT, MultipathPair
from topologies.testbed.testbed import Testbed

QUICS = tuple(f"quic {name}" for name in IMPLEMENTATIONS)
MPTCP = "mptcp"
TRANSPORTS = ("tcp", MPTCP, "tunnel", *QUICS, *MULTIPATH_QUICS)
_SCHEDULED = tuple(f"{MPTCP} {scheduler}" for scheduler in mptcp_schedulers.RESEARCH)
_ONE_PATH = ("tcp", *QUICS)
_SLOW_TO_MEASURE = "quic aioquic"
"""Its programs are in Python, so that a cell takes many times as long as the others'."""
_SCHEDULER = "scheduler"
_MOST_OF_A_PATH = 1.01
"""Share of a path's payload limit that may be found: one header stands for several segments of a GSO packet."""

_SHARES = {"share_path1": Look("first path", style.BLUE), "share_path2": Look("second path", style.ORANGE, hatch="///")}


def _of(workload: str, draw: Draw) -> Draw:
    """Returns a figure of the cells of one workload."""
    return lambda cells: draw([cell for cell in cells if cell.cell.parameters.get("workload", "bulk") == workload])


def _bars(workload: str, metric: str, title: str, y_label: str, scale: float = 1.0) -> Draw:
    looks = looks_of(TRANSPORTS)
    labels: dict[str, Any] = {"groups": "paths", "by": "transport", "looks": looks, "x_label": "paths"}
    return _of(workload, partial(bars, metric=metric, title=title, y_label=y_label, scale=scale, **labels))


class TransportLeague(Scenario):
    """Which transport is fastest over two paths?

      equal      bw=50 delay=10ms queue=50ms | the same
      unequal    bw=300 delay=10ms queue=50ms | bw=80 delay=30ms queue=50ms
      swapped    the same two in the other order
      loss       as equal, and 0.1 % of the packets are lost; heavy_loss: 1 %
      cut        as equal; the first path is cut from 3 s to 6 s
      near       bw=1000 delay=1ms queue=10ms | the same
      long       bw=1000 delay=50ms queue=50ms | the same
      wireless   bw=40 delay=3ms jitter=2ms queue=100ms, from 2 s to 4 s bw=8 | bw=20 delay=25ms queue=200ms
      satellite  bw=50 delay=20ms queue=50ms, handovers at 2 s and 5 s | bw=20 delay=25ms queue=200ms

      bulk       a download
      requests   100 of 100 kB, one after the other on one connection
      stream     20 Mbit/s for 10 s: every 20 ms a request for 50 kB, which is of use for 100 ms
      shared     a download, while TCP with cubic shares the first path (its rate is rival_goodput)

    tcp and mptcp are the kernel's, `mptcp ecf` is mptcp with that packet scheduler; tunnel is TCP in MPT-GRE with
    adaptive weights; quic and mpquic are the programs of an implementation (`make quic`), on one path and on both. All
    use the same congestion control, each in its own version. The share of the sum is that of the most TCP payload that
    both paths can carry; the handshake and slow start are part of the time. The links' counters prove which paths
    carried the bytes.

      flightpath run transport_league
      flightpath run transport_league --only paths=equal --transports mptcp,'mpquic noq' --size 20
      flightpath run transport_league --only paths=unequal --transports mptcp --scheduler default,blest,ecf
    """

    name = "transport_league"
    summary = "TCP, MPTCP, QUIC, multipath QUIC and MPT-GRE over two paths: a download, requests, a stream"
    headlines = (
        *("goodput", "share_of_sum", "latency_service_mean", "on_time", "latency_intended_p99"),
        *("share_path2", "lost", "retransmissions"),
    )
    programs = ("iperf3", "mptcpize", "ss")
    repeats = (2, 3)
    axes = (
        Axis(
            "transport",
            tuple(each for each in TRANSPORTS if each != _SLOW_TO_MEASURE),
            TRANSPORTS,
            option="--transports",
            help="transports",
            check=one_of("--transports", (*TRANSPORTS, *_SCHEDULED)),
        ),
        Axis(
            _SCHEDULER,
            (mptcp_schedulers.DEFAULT,),
            option="--scheduler",
            help=f"packet schedulers of mptcp; in virtual time also {', '.join(mptcp_schedulers.RESEARCH)}",
            check=partial(mptcp_schedulers.check, "--scheduler"),
        ),
        Axis("paths", ("equal", "unequal", "swapped"), tuple(PATHS)),
        Axis("workload", ("bulk", "requests", "stream"), tuple(WORKLOADS)),
    )
    options = (
        CONGESTION_CONTROL,
        Setting("--size", "size of the download in MB", 100, name="size_mb", metavar="MB", read=at_least("--size", 1)),
    )
    figures = Figures(
        goodput=_bars("bulk", "goodput", "A download over two paths", "Mbit/s", 1e-6),
        lost=_bars("bulk", "lost", "Packets that QUIC took for lost", "%"),
        latency=_bars("requests", "latency_service_mean", "Requests of 100 kB, one after the other", "mean (ms)"),
        on_time=_bars("stream", "on_time", "A stream of 20 Mbit/s: parts that came within 100 ms", "%"),
        shares=_of(
            "bulk",
            partial(
                stacked_metrics,
                parts=_SHARES,
                groups="transport",
                panels="paths",
                title="Which path carried the bytes of a download",
                x_label="transport",
                y_label="share (%)",
            ),
        ),
    )
    claims = league_claims()

    @override
    def axis_values(self, request: PlanRequest) -> dict[str, tuple[ParameterValue, ...]]:
        values = super().axis_values(request)
        schedulers = values.pop(_SCHEDULER)
        if request.option("--scheduler") and MPTCP not in values["transport"]:
            raise UsageError(
                "--scheduler: no transport of the plan is mptcp", "leave it out, or add mptcp to --transports"
            )
        by_scheduler = [_with_scheduler(str(scheduler)) for scheduler in schedulers]
        transports = (by_scheduler if each == MPTCP else [each] for each in values["transport"])
        return {**values, "transport": tuple(itertools.chain.from_iterable(transports))}

    @override
    def congestion_control(self, cell: Cell, plan: Plan) -> str | None:
        return super().congestion_control(cell, plan) if _implementation(cell) is None else None

    @override
    def require(self, plan: Plan) -> None:
        mptcp_schedulers.require(map(_scheduler, plan.cells()))
        super().require(plan)
        for implementation in filter(None, map(_implementation, plan.cells())):
            implementation.algorithm(plan.settings["congestion_control"])
            implementation.require()

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        pattern = _workload(cell).pattern
        if pattern is not None and pattern.interval_s:
            return pattern.count * pattern.interval_s
        size = MB * plan.settings["size_mb"] if pattern is None else pattern.total_bytes
        return 8 * size / min(link.bandwidth_bps or 1 for link in _paths(cell).links)

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        return MultipathPair(
            links=_paths(cell).links,
            mptcp=_is_mptcp(cell),
            congestion_control=self.congestion_control(cell, plan),
            scheduler=_scheduler(cell),
        )

    @override
    def link_names(self, testbed: Testbed, cell: Cell, plan: Plan) -> Mapping[str, EmulatedLink]:
        return {f"path{number}": link for number, link in enumerate(testbed.links, start=1)}

    @override
    def link_events(self, cell: Cell, plan: Plan) -> list[LinkEvent]:
        return [*super().link_events(cell, plan), *map(LinkEvent.parse, _paths(cell).events)]

    @override
    def load(self, run: RunningCell) -> Measurement:
        links = self.link_names(run.testbed, run.cell, run.plan)
        before = link_counters.read_counters(links)
        is_cut = any(event.carrier is False for event in self.link_events(run.cell, run.plan))
        measured = _measured(run, self.load_s(run.cell, run.plan), is_cut=is_cut)
        after = link_counters.read_counters(links)
        moved = {path: after[f"{path}.b_to_a"] - before[f"{path}.b_to_a"] for path in links}
        moved["path1"] = max(0.0, moved["path1"] - measured.metadata.get("rival_bytes", 0) / PAYLOAD_SHARE)
        if _transport(run.cell) in _ONE_PATH:
            link_counters.require_one_path({CLIENT: moved})
        elif _fills_all_paths(_workload(run.cell)):
            link_counters.require_all_paths({CLIENT: moved})
        shares = {f"share_{path}": size / sum(moved.values()) for path, size in moved.items()}
        if _workload(run.cell).pattern is None:
            sum_bps = PAYLOAD_SHARE * sum(link.bandwidth_bps or 0 for link in _paths(run.cell).links)
            shares["share_of_sum"] = measured.metrics["goodput"].value / sum_bps
            if not run.plan.events:  # which may raise a path's rate
                require_possible(measured.metrics, shares, _paths(run.cell))
        return measured.merged(Measurement({name: Metric(100 * share, "%") for name, share in shares.items()}))

    @override
    def reasons_unusable(self, measured: Measurement) -> Sequence[str]:
        limit = measured.metadata.get("limit")
        return [f"the path was not the limit: {limit}"] if limit else []


def require_possible(metrics: Mapping[str, Metric], shares: Mapping[str, float], paths: PathPair) -> None:
    """Raises MeasurementFailed if a path carried more payload than it can, beside a download's all that shares it."""
    for number, link in enumerate(paths.links, start=1):
        carried_bps = shares[f"share_path{number}"] * metrics["goodput"].value
        if number == 1 and "rival_goodput" in metrics:
            carried_bps += metrics["rival_goodput"].value
        limit_bps = PAYLOAD_SHARE * (link.bandwidth_bps or float("inf"))
        if carried_bps > _MOST_OF_A_PATH * limit_bps:
            raise MeasurementFailed(
                f"path {number} carried {carried_bps / limit_bps:.1%} of what it can: a rate is wrong"
            )


def _fills_all_paths(workload: Workload) -> bool:
    """Tells whether each path must carry bytes: a few requests may fit into one, and the rival's may be avoided."""
    return workload.pattern is None and not workload.has_rival


def _measured(run: RunningCell, alone_s: float, *, is_cut: bool) -> Measurement:
    workload = _workload(run.cell)
    if not workload.has_rival:
        return workload.judged(_of_transport(run, workload, contextlib.nullcontext(), is_cut=is_cut))
    rival = Rival(run, alone_s)
    measured = _of_transport(run, workload, rival.running(), is_cut=is_cut)
    download_s = 8 * MB * run.plan.settings["size_mb"] / measured.metrics["goodput"].value
    return measured.merged(rival.measurement(download_s))


def _of_transport(run: RunningCell, workload: Workload, beside: Beside, *, is_cut: bool) -> Measurement:
    transport, implementation = _transport(run.cell), _implementation(run.cell)
    if implementation is None:
        return over_tcp(run, workload, beside, is_mptcp=_is_mptcp(run.cell), in_tunnel=transport == "tunnel")
    is_multipath = transport in MULTIPATH_QUICS
    return over_quic(run, workload, implementation, beside, is_multipath=is_multipath, is_cut=is_cut)


def _transport(cell: Cell) -> str:
    return str(cell.parameters["transport"])


def _paths(cell: Cell) -> PathPair:
    return PATHS[str(cell.parameters["paths"])]


def _workload(cell: Cell) -> Workload:
    return WORKLOADS[str(cell.parameters.get("workload", "bulk"))]


def _implementation(cell: Cell) -> Implementation | None:
    """Returns the QUIC implementation of a cell; None if it has another transport."""
    _, _, name = _transport(cell).partition(" ")
    return IMPLEMENTATIONS[name] if name and not _is_mptcp(cell) else None


def _is_mptcp(cell: Cell) -> bool:
    return _transport(cell).partition(" ")[0] == MPTCP


def _with_scheduler(scheduler: str) -> str:
    """Returns the transport of MPTCP with a packet scheduler."""
    return MPTCP if scheduler == mptcp_schedulers.DEFAULT else f"{MPTCP} {scheduler}"


def _scheduler(cell: Cell) -> str:
    """Returns the packet scheduler of a cell."""
    _, _, name = _transport(cell).partition(" ")
    return name if name and _is_mptcp(cell) else mptcp_schedulers.DEFAULT


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(TransportLeague())
