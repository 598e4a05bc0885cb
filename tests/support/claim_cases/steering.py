"""Runs for the claims on steering policies."""

from results.records import ClaimVerdict
from scenarios.routing_convergence import CONTROLLER, RoutingConvergence
from scenarios.steering.claims import PATH_BPS
from scenarios.subflow_steering import SubflowSteering
from tests.support.claim_cases.case import Case, Point, Values, World, case, constant, grid, times

UNDECIDED = ClaimVerdict.NOT_DECIDED
PATHS_USED = {"none": 4.0, "single": 1.0, "ecmp": 2.7, "disjoint": 3.9}
DISJOINT, BLACK_HOLE = (
    {"policy": "disjoint"},
    "a black hole, which no switch reports, is found, and the connection moved",
)


def _as_meant(point: Point) -> Values:
    """Every policy does what it is for."""
    used = PATHS_USED.get(point["policy"], 3.9) if point["protocol"] == "mptcp" else 1.0
    used = 3.9 if point["policy"] == "least-loaded" else used
    return {"goodput": used * PATH_BPS, "silence_cut": 150.0, "silence_black_hole": 150.0}


def _point(policy: str, protocol: str) -> Point:
    return {"paths": "equal", "policy": policy, "protocol": protocol, "flows": 4}


def _silent(metric: str) -> Case:
    """One load of several is silent for long."""
    point = {**DISJOINT, "protocol": "tcp", "paths": "unequal", "flows": 2}
    return case(point, times(metric, 20), tie=constant(**{metric: 1000.0}), on_tie=UNDECIDED)


def _converging(point: Point) -> Values:
    """Each protocol waits for as long as its timers say."""
    waits_s = {"ospf": 35.0, "bgp": 150.0, "bgp_fast": 8.0}
    ping_s = waits_s.get(str(point["routing"]), 0.7) if point["failure"] == "black_hole" else 0.5
    return {"silence_ping": 1e3 * ping_s, "silence_tcp": 300.0}


def _black_hole(routing: str, silence_s: float, tie_s: float) -> Case:
    """Another silence than the timers say."""
    point = {"routing": routing, "failure": "black_hole"}
    tie = constant(silence_ping=1e3 * tie_s)
    return case(point, constant(silence_ping=1e3 * silence_s), tie=tie, on_tie=UNDECIDED)


WORLDS = {
    "routing_convergence": World(
        grid(RoutingConvergence.axes),
        _converging,
        {
            "a cut costs pings less than a second, near or far": case(
                {"routing": "bgp", "failure": "far"},
                constant(silence_ping=3000.0),
                tie=constant(silence_ping=1000.0),
                on_tie=UNDECIDED,
            ),
            "a black hole lasts until OSPF's dead interval is over": _black_hole("ospf", 5.0, 30.0),
            "a black hole lasts until BGP's hold timer is over": _black_hole("bgp", 30.0, 120.0),
            "with BFD a black hole lasts for three of its packets": _black_hole("ospf_bfd", 3.0, 1.0),
            "a connection that the controller steers is silent for less than half a second": case(
                {"routing": CONTROLLER, "failure": "far"},
                constant(silence_tcp=3000.0),
                tie=constant(silence_tcp=500.0),
                on_tie=UNDECIDED,
            ),
        },
    ),
    "subflow_steering": World(
        grid(SubflowSteering.axes),
        _as_meant,
        {
            "subflows over disjoint equal paths get the sum of them": case(
                DISJOINT,
                times("goodput", 0.8),
                _point("disjoint", "mptcp"),
                tie=constant(goodput=3.6 * PATH_BPS),
                on_tie=UNDECIDED,
            ),
            "subflows that are all on one path gain nothing (control)": case(
                {"policy": "single"},
                times("goodput", 1.5),
                _point("single", "mptcp"),
                tie=constant(goodput=1.1 * PATH_BPS),
                on_tie=UNDECIDED,
            ),
            "knowing the connection beats hashing its subflows (ecmp)": case(
                {"policy": "ecmp"}, times("goodput", 2), _point("ecmp", "mptcp")
            ),
            "for parallel connections, each on one path, least-loaded is faster than the same path for all": case(
                {"policy": "single"}, times("goodput", 9), _point("single", "tcp")
            ),
            "after a cut the controller moves the connection before TCP gives up on the path": _silent("silence_cut"),
            BLACK_HOLE: _silent("silence_black_hole"),
        },
    ),
}
