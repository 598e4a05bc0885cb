"""TCP, MPTCP, QUIC, multipath QUIC and MPT-GRE over pairs of paths: our own experiment."""

import contextlib
from collections.abc import Mapping, Sequence
from functools import partial

from mininet.topo import Topo

from experiments.claims import Evidence
from experiments.figures import metric_bars, stacked_metrics
from experiments.judging import ALIKE, Found, Range, change, claim, level
from experiments.parameters import CONGESTION_CONTROL, Axis, Setting, at_least
from experiments.plan import Plan
from experiments.scenario import RunningCell, Scenario
from flightpath.overrides import override
from probes.counters import links as link_counters
from probes.counters import mptcp
from probes.transfers.iperf3 import Iperf3
from probes.transfers.quic import QuicTransfer
from results.figures import style
from results.figures.charts import looks_of
from results.figures.drawing import Figures
from results.figures.style import Look
from results.records import Cell, Measurement, Metric
from results.statistics.estimates import Estimate
from services.iperf3 import Iperf3Server
from services.quic.implementation import Implementation
from services.quic.implementations import IMPLEMENTATIONS
from services.quic.server import QuicServer
from topologies.hosts import congestion_control
from topologies.links.emulated_link import EmulatedLink
from topologies.links.events import LinkEvent
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.links.texts import link_specs
from topologies.multipath_pair import CLIENT, SERVER, MultipathPair
from topologies.testbed.testbed import Testbed
from topologies.testbed.tunnel import Tunnel, TunnelSpec

MB = 1_000_000
EQUAL, FAST, SLOW = "bw=50 delay=10ms queue=50ms", "bw=300 delay=10ms queue=50ms", "bw=80 delay=30ms queue=50ms"
PATHS: Mapping[str, tuple[str, str]] = {
    "equal": (EQUAL, EQUAL),
    "unequal": (FAST, SLOW),
    "swapped": (SLOW, FAST),
    "loss": (f"{EQUAL} loss=0.1", f"{EQUAL} loss=0.1"),
    "cut": (EQUAL, EQUAL),
}
"""Both paths by their name; of `cut` the first one carries nothing for some time."""
CUT = ("3s h1-eth0 down", "6s h1-eth0 up")

QUICS = tuple(f"quic {name}" for name in IMPLEMENTATIONS)
MULTIPATH_QUICS = tuple(f"mpquic {name}" for name, each in IMPLEMENTATIONS.items() if each.multipath_draft)
TRANSPORTS = ("tcp", "mptcp", "tunnel", *QUICS, *MULTIPATH_QUICS)
_ONE_PATH = ("tcp", *QUICS)

SUM_PERCENT = 95.0
"""Share of the sum of both paths that counts as all of it."""
_LONGEST_S = 300.0
"""Time after which a download has failed."""

_BARS = {
    "goodput": ("A download over two paths", "Mbit/s", 1e-6),
    "lost": ("Packets that QUIC took for lost", "%", 1.0),
}
_SHARES = {"share_path1": Look("first path", style.BLUE), "share_path2": Look("second path", style.ORANGE, hatch="///")}


def _of_equal_paths(evidence: Evidence) -> dict[str, Found]:
    """Returns the share of the sum of two equal paths of MPTCP, and of the best multipath QUIC."""

    def share(transport: str) -> Found:
        return level(evidence, "share_of_sum", transport=transport, paths="equal")

    quics = {name: share(name) for name in MULTIPATH_QUICS}
    best = max(quics, key=lambda name: found.value if isinstance(found := quics[name], Estimate) else -1.0)
    return {"mptcp": share("mptcp"), best: quics[best]}


def _by_order(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of the goodput if the slower of two paths is the first."""
    orders = [{"paths": paths} for paths in ("unequal", "swapped")]
    transports = ("mptcp", *MULTIPATH_QUICS)
    return {
        name: change(evidence, "goodput", *({"transport": name, **order} for order in orders)) for name in transports
    }


class TransportLeague(Scenario):
    """How fast is a download over two paths, by transport?

      equal    bw=50 delay=10ms queue=50ms | the same
      unequal  bw=300 delay=10ms queue=50ms | bw=80 delay=30ms queue=50ms
      swapped  the same two in the other order
      loss     bw=50 delay=10ms queue=50ms loss=0.1 | the same
      cut      as equal; the first path is cut from 3 s to 6 s

    tcp and mptcp are the kernel's, downloaded with iperf3; tunnel is TCP in MPT-GRE with adaptive weights; quic and
    mpquic are the programs of an implementation (`make quic`), on one path and on both. All use the same congestion
    control, each in its own version. The share of the sum is that of the most TCP payload that both paths can carry;
    the handshake and slow start are part of the time. The links' counters prove which paths carried the bytes.

      flightpath run transport_league
      flightpath run transport_league --only paths=equal --transports mptcp,'mpquic noq' --size 20
    """

    name = "transport_league"
    summary = "TCP, MPTCP, QUIC, multipath QUIC and MPT-GRE: a download over two paths"
    headlines = ("goodput", "share_of_sum", "share_path2", "lost", "retransmissions", "rtt")
    programs = ("iperf3", "mptcpize", "ss")
    repeats = (2, 3)
    axes = (
        Axis("transport", TRANSPORTS, option="--transports", help="transports"),
        Axis("paths", ("equal", "unequal", "swapped"), tuple(PATHS)),
    )
    options = (
        CONGESTION_CONTROL,
        Setting("--size", "size of the download in MB", 100, name="size_mb", metavar="MB", read=at_least("--size", 1)),
    )
    figures = Figures(
        **metric_bars(_BARS, groups="transport", by="paths", looks=looks_of(PATHS), x_label="transport"),
        shares=partial(
            stacked_metrics,
            parts=_SHARES,
            groups="transport",
            panels="paths",
            title="Which path carried the bytes",
            x_label="transport",
            y_label="share (%)",
        ),
    )
    claims = (
        claim(
            "on two equal paths MPTCP and the best multipath QUIC get the sum",
            f"at least {SUM_PERCENT:g} % of the sum",
            _of_equal_paths,
            Range(least=SUM_PERCENT),
            form="{:.1f} %",
        ),
        claim(
            "the order of two unequal paths does not matter to MPTCP and multipath QUIC",
            "about the same goodput",
            _by_order,
            ALIKE,
        ),
    )

    @override
    def congestion_control(self, cell: Cell, plan: Plan) -> str | None:
        return super().congestion_control(cell, plan) if _implementation(cell) is None else None

    @override
    def require(self, plan: Plan) -> None:
        super().require(plan)
        for implementation in filter(None, map(_implementation, plan.cells())):
            implementation.algorithm(plan.settings["congestion_control"])
            implementation.require()

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        return 8 * MB * plan.settings["size_mb"] / min(link.bandwidth_bps or 1 for link in _links(cell))

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        is_mptcp = _transport(cell) == "mptcp"
        algorithm = self.congestion_control(cell, plan)
        return MultipathPair(links=_links(cell), mptcp=is_mptcp, congestion_control=algorithm)

    @override
    def link_names(self, testbed: Testbed, cell: Cell, plan: Plan) -> Mapping[str, EmulatedLink]:
        return {f"path{number}": link for number, link in enumerate(testbed.links, start=1)}

    @override
    def link_events(self, cell: Cell, plan: Plan) -> list[LinkEvent]:
        cut = CUT if cell.parameters["paths"] == "cut" else ()
        return [*super().link_events(cell, plan), *map(LinkEvent.parse, cut)]

    @override
    def load(self, run: RunningCell) -> Measurement:
        transport, links = _transport(run.cell), self.link_names(run.testbed, run.cell, run.plan)
        before = link_counters.read_counters(links)
        implementation = _implementation(run.cell)
        measured = _over_tcp(run) if implementation is None else _over_quic(run, implementation)
        after = link_counters.read_counters(links)
        moved = {path: after[f"{path}.b_to_a"] - before[f"{path}.b_to_a"] for path in links}
        prove = link_counters.require_one_path if transport in _ONE_PATH else link_counters.require_all_paths
        prove({CLIENT: moved})
        sum_bps = PAYLOAD_SHARE * sum(link.bandwidth_bps or 0 for link in _links(run.cell))
        shares = {f"share_{path}": size / sum(moved.values()) for path, size in moved.items()}
        shares["share_of_sum"] = measured.metrics["goodput"].value / sum_bps
        return measured.merged(Measurement({name: Metric(100 * share, "%") for name, share in shares.items()}))

    @override
    def reasons_unusable(self, measured: Measurement) -> Sequence[str]:
        limit = measured.metadata.get("limit")
        return [f"the path was not the limit: {limit}"] if limit else []


def _transport(cell: Cell) -> str:
    return str(cell.parameters["transport"])


def _links(cell: Cell) -> list[LinkSpec]:
    return [link for link in link_specs("paths", PATHS[str(cell.parameters["paths"])], 2) if link]


def _implementation(cell: Cell) -> Implementation | None:
    """Returns the QUIC implementation of a cell; None if it has another transport."""
    _, _, name = _transport(cell).partition(" ")
    return IMPLEMENTATIONS[name] if name else None


def _over_tcp(run: RunningCell) -> Measurement:
    """Downloads over TCP, MPTCP, or TCP in a tunnel."""
    client, server = run.testbed.host(CLIENT), run.testbed.host(SERVER)
    is_mptcp, size = _transport(run.cell) == "mptcp", MB * run.plan.settings["size_mb"]
    with contextlib.ExitStack() as stack:
        address = server.address()
        if _transport(run.cell) == "tunnel":
            address = stack.enter_context(Tunnel(client, server, TunnelSpec(weights="adaptive"))).address(server)
        listening = congestion_control.set_on_listeners
        stack.enter_context(Iperf3Server(server, run.folder, mptcp=is_mptcp, on_listening=listening))
        probe = Iperf3(seconds=_LONGEST_S, warm_up_s=0, size_bytes=size, reverse=True, mptcp=is_mptcp)
        run.watch.start_events()
        with run.watch.recording_congestion_control(SERVER):
            measured = probe.run(client, address, watch=run.watch.check)
    counted = mptcp.read_counters(client)
    if is_mptcp:
        mptcp.require_mptcp(CLIENT, {}, counted)
    else:
        mptcp.require_no_mptcp(CLIENT, {}, counted)
    return measured


def _over_quic(run: RunningCell, implementation: Implementation) -> Measurement:
    """Downloads over QUIC or multipath QUIC."""
    client, server = run.testbed.host(CLIENT), run.testbed.host(SERVER)
    size = MB * run.plan.settings["size_mb"]
    first, *others = (server.address(port) for port in sorted(server.addresses))
    further = tuple(others) if _transport(run.cell) in MULTIPATH_QUICS else ()
    algorithm = run.plan.settings["congestion_control"]
    service = QuicServer(
        server, run.folder / "quic", implementation, congestion_control=algorithm, paths=1 + len(further)
    )
    with service:
        run.watch.start_events()
        probe = QuicTransfer(service, size, further_paths=further, limit_s=_LONGEST_S)
        return probe.run(client, first, watch=run.watch.check)


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(TransportLeague())
