"""Cost of a failure under OSPF, BGP and a controller, until packets take another way: our own experiment."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mininet.topo import Topo

from experiments.claims import Evidence
from experiments.figures import metric_bars
from experiments.judging import Found, Range, claim, level
from experiments.parameters import Axis, one_of
from experiments.plan import Plan
from experiments.scenario import CellContext, RunningCell, Scenario, Service
from flightpath.overrides import override
from probes.transfers.ping import Ping
from probes.transfers.stream import Stream
from results.figures.charts import looks_of
from results.figures.drawing import Draw, Figures
from results.records import Cell, CellResult, Measurement, Metric
from services.frr.package import Frr
from services.frr.protocols import PROTOCOLS
from services.frr.router import RoutingRouters
from services.stream import StreamServer
from topologies.fabric import Fabric
from topologies.hosts.multihomed import MultihomedHost, Route, mac
from topologies.hosts.routing import addressing
from topologies.links.events import LinkEvent
from topologies.links.texts import link_spec
from topologies.testbed.testbed import Testbed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONTROLLER = "controller"
CLIENT, SERVER = "h1", "h2"
FIRST_PATH, SECOND_PATH = "bw=100 delay=5ms", "bw=100 delay=6ms"

_ROUTERS = ("r1", "r2", "r3", "r4")
_LINKS = (
    (("h1", 0), ("r1", 0), FIRST_PATH),
    (("r1", 1), ("r2", 0), FIRST_PATH),
    (("r2", 1), ("r4", 1), FIRST_PATH),
    (("r1", 2), ("r3", 0), SECOND_PATH),
    (("r3", 1), ("r4", 2), SECOND_PATH),
    (("r4", 0), ("h2", 0), FIRST_PATH),
)
_COSTS = {("r1", 2): 20, ("r3", 0): 20, ("r3", 1): 20, ("r4", 2): 20}
"""Costs of the second path: routers prefer the first one, as the controller does for its delay."""
_WINDOW = {"receive_buffer_bytes": 16 * 1024}
"""Settings of the hosts: with a small window a connection fills no queue, in which other packets would wait."""

FAILURES: Mapping[str, tuple[str, str, str]] = {
    "near": ("r1-r2", "edge1-core1", "down"),
    "far": ("r2-r4", "edge2-core1", "down"),
    "black_hole": ("r1-r2", "edge1-core1", "blackhole=on"),
}
"""The link that fails, by the names of routers and of switches, and how."""
_REPAIRED = {"down": "up", "blackhole=on": "blackhole=off"}

_PING_S = 0.02
_BEFORE_S, _CUT_S, _AFTER_S = 2.0, 8.0, 20.0
_BACKOFF = 2.0
"""Length of a black hole, of the time in which it is detected: TCP doubles its waits, and may try again that late."""

_BARS = {
    "silence_ping": ("Longest time without an answer to a ping, after the failure", "s", 1e-3),
    "silence_tcp": ("Longest time without data on a TCP connection, after the failure", "s", 1e-3),
}


_DRAWN = metric_bars(_BARS, groups="routing", by="failure", looks=looks_of(FAILURES), x_label="routing")


def _logarithmic(draw: Draw) -> Draw:
    """Returns a function that draws with a logarithmic axis, on which hundredths of seconds and minutes are seen."""

    def drawn(cells: Sequence[CellResult]) -> "Figure | None":
        figure = draw(cells)
        for axes in figure.axes if figure else ():
            axes.set_yscale("log")
            axes.set_ylim(bottom=_PING_S / 2)
        return figure

    return drawn


def _silence(evidence: Evidence, metric: str, routing: str, failure: str) -> Found:
    return level(evidence, metric, scale=1e-3, routing=routing, failure=failure)


def _black_hole(evidence: Evidence, routing: str) -> dict[str, Found]:
    """Returns how long pings are not answered while a link carries nothing."""
    return {"": _silence(evidence, "silence_ping", routing, "black_hole")}


def _cuts(evidence: Evidence) -> dict[str, Found]:
    """Returns the silence of pings after each cut, by protocol and place."""
    return {
        f"{routing}, {failure}": _silence(evidence, "silence_ping", routing, failure)
        for routing in ("ospf", "bgp")
        for failure in ("near", "far")
    }


def _steered(evidence: Evidence) -> dict[str, Found]:
    """Returns the silence of a connection that the controller steers, by failure."""
    return {failure: _silence(evidence, "silence_tcp", CONTROLLER, failure) for failure in FAILURES}


class RoutingConvergence(Scenario):
    """How long do packets get lost after a failure, until they take the other of two paths?

              r2                         core1
             /  \\                       /     \\
      h1 - r1    r4 - h2      h1 - edge1       edge2 - h2
             \\  /                       \\     /
              r3                         core2

    Routers (FRRouting; `make frr`) speak OSPF or BGP, or the same network has switches and Flightpath's controller. h1
    pings h2, and reads from it over a TCP connection, by r2 or core1. A link of this path fails and is repaired:

      near        the first link is cut: r1 sees it
      far         the second one is cut: r1 has to be told
      black_hole  the first link carries nothing, and nobody sees it: only silence tells

    OSPF says hello each 10 s and waits for 40 s, fast OSPF waits for 1 s; BGP waits for 180 s, fast BGP for 9 s; with
    BFD they get a packet each 300 ms and wait for three. The longest time without an answer, or without data, is what
    the failure costs.

      flightpath run routing_convergence
      flightpath run routing_convergence --routing ospf,ospf_bfd --only failure=black_hole
    """

    name = "routing_convergence"
    summary = "OSPF, BGP and a controller: how long packets get lost after a failure"
    headlines = ("silence_ping", "silence_tcp", "silence_repair", "lost", "rtt")
    programs = ("ping", "ip", "unshare")
    repeats = (2, 3)
    axes = (
        Axis(
            "routing",
            ("ospf", "ospf_bfd", "bgp", CONTROLLER),
            (*PROTOCOLS, CONTROLLER),
            option="--routing",
            help="protocols of routers, or the controller of switches",
            check=one_of("--routing", (*PROTOCOLS, CONTROLLER)),
        ),
        Axis("failure", tuple(FAILURES)),
    )
    options = ()
    figures = Figures(**{name: _logarithmic(draw) for name, draw in _DRAWN.items()})
    claims = (
        claim(
            "a cut costs pings less than a second, near or far",
            "at most 1 s with OSPF and BGP",
            _cuts,
            Range(most=1.0),
            form="{:.2f} s",
        ),
        claim(
            "a black hole lasts until OSPF's dead interval is over",
            "30 to 40 s (RFC 2328: hellos each 10 s, dead after 40 s)",
            partial(_black_hole, routing="ospf"),
            Range(least=30.0, most=40.5),
            form="{:.1f} s",
        ),
        claim(
            "a black hole lasts until BGP's hold timer is over",
            "120 to 180 s (RFC 4271: keepalives each 60 s, dead after 180 s)",
            partial(_black_hole, routing="bgp"),
            Range(least=120.0, most=180.5),
            form="{:.1f} s",
        ),
        claim(
            "with BFD a black hole lasts for three of its packets",
            "at most 1 s (RFC 5880: a packet each 300 ms)",
            partial(_black_hole, routing="ospf_bfd"),
            Range(most=1.0),
            form="{:.2f} s",
        ),
        claim(
            "a connection that the controller steers is silent for less than half a second",
            "at most 0.5 s, after each failure",
            _steered,
            Range(most=0.5),
            form="{:.2f} s",
        ),
    )

    @override
    def require(self, plan: Plan) -> None:
        if any(_protocol(cell) for cell in plan.cells()):
            Frr.find()
        super().require(plan)

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        if _protocol(cell) is None:
            links = f"{FIRST_PATH}; {SECOND_PATH}"
            return Fabric(edges=2, hosts=1, cores=2, links=links, access=FIRST_PATH, multihomed=False, settings=_WINDOW)
        return _routed()

    @override
    def testbed_options(self, cell: Cell, plan: Plan) -> Mapping[str, Any]:
        return {"policy": "shortest" if _protocol(cell) is None else None}

    @override
    def link_events(self, cell: Cell, plan: Plan) -> list[LinkEvent]:
        of_routers, of_switches, change = FAILURES[str(cell.parameters["failure"])]
        link = of_switches if _protocol(cell) is None else of_routers
        failed_s, repaired_s = _BEFORE_S, _BEFORE_S + _failed_s(cell)
        own = (f"{failed_s:g}s {link} {change}", f"{repaired_s:g}s {link} {_REPAIRED[change]}")
        return [*super().link_events(cell, plan), *map(LinkEvent.parse, own)]

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        return _BEFORE_S + _failed_s(cell) + _AFTER_S

    @override
    def start_services(self, testbed: Testbed, context: CellContext, stack: ExitStack) -> Sequence[Service]:
        protocol = _protocol(context.cell)
        if protocol is None:
            return ()
        context.progress(0.1, f"{context.cell.parameters['routing']}: until each router knows all subnets")
        routers = [testbed.host(name) for name in _ROUTERS]
        service = stack.enter_context(RoutingRouters(routers, PROTOCOLS[protocol], _COSTS))
        for router in routers:  # whoever asks where packets go is told what the protocol has found
            router.routes = tuple(_learnt(router, service.routes[router.name]))
        return [service]

    @override
    def load(self, run: RunningCell) -> Measurement:
        client, server = run.testbed.host(CLIENT), run.testbed.host(SERVER)
        seconds, repaired_s = self.load_s(run.cell, run.plan), _BEFORE_S + _failed_s(run.cell)
        ping, stream = Ping(round(seconds / _PING_S), _PING_S), Stream(seconds)
        with StreamServer(server, run.folder), ThreadPoolExecutor(1) as background:
            began_ns = time.monotonic_ns()
            run.watch.start_events(began_ns)
            run.progress(0.3, f"pings and a connection for {seconds:.0f} s")
            pings = background.submit(ping.run, client, server.address())
            streamed = stream.run(client, server.address(), watch=run.watch.check)
            pinged = pings.result()
        failed_ns, repaired_ns = (began_ns + round(at_s * 1e9) for at_s in (_BEFORE_S, repaired_s))
        times = pinged.series["rtt"].times_s
        silences = {
            "silence_ping": _longest_gap_s(times, _BEFORE_S - 1.0, repaired_s),
            "silence_repair": _longest_gap_s(times, repaired_s, times[-1]),
            "silence_tcp": streamed.longest_silence_s(failed_ns, repaired_ns),
        }
        metrics = {name: Metric(1e3 * silence_s, "ms") for name, silence_s in silences.items()}
        return pinged.merged(Measurement({**metrics, **streamed.measurement().metrics}))


def _protocol(cell: Cell) -> str | None:
    """Returns the routing protocol of a cell; None if a controller does the work."""
    name = str(cell.parameters["routing"])
    return None if name == CONTROLLER else name


def _failed_s(cell: Cell) -> float:
    """Returns how long the failure lasts: a black hole for longer than anyone needs to see it."""
    protocol = _protocol(cell)
    if cell.parameters["failure"] != "black_hole" or protocol is None:
        return _CUT_S
    return max(_CUT_S, _BACKOFF * PROTOCOLS[protocol].detection_s)


def _longest_gap_s(times: Sequence[float], began_s: float, ended_s: float) -> float:
    """Returns the longest time between two answers of a span, both of its ends included."""
    inside = [began_s, *(each for each in times if began_s <= each < ended_s), ended_s]
    return max(later - earlier for earlier, later in pairwise(inside))


def _learnt(router: MultihomedHost, routes: Sequence[Mapping[str, Any]]) -> Iterator[Route]:
    ports = {interface.name: port for port, interface in router.intfs.items()}
    for route in routes:
        if "gateway" in route:
            yield Route(route["dst"], route["gateway"], ports[route["dev"]], route["metric"])


def _routed() -> Topo:
    """Returns the network of routers, which have no routes to begin with."""
    plan = addressing([(a, b) for a, b, _ in _LINKS], (), _ROUTERS)
    topo = Topo()
    for host in (CLIENT, SERVER):
        own = {"addresses": plan.addresses[host], "routes": plan.routes[host], **_WINDOW}
        topo.addHost(host, cls=MultihomedHost, **own)
    for router in _ROUTERS:
        topo.addHost(router, cls=MultihomedHost, addresses=plan.addresses[router], forwards=True)
    for number, ((a, port1), (b, port2), spec) in enumerate(_LINKS, start=1):
        macs = {"addr1": mac(0, number, 1), "addr2": mac(0, number, 2)}
        topo.addLink(a, b, port1=port1, port2=port2, spec=link_spec(spec), **macs)
    return topo


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(RoutingConvergence())
