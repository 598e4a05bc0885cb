"""Which path a flow takes: without it the paths would be known and all flows still on one.

Each policy is a pure function of the topology and of what is wanted. `POLICIES` has them by name; `policy_named` finds
one.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from controllers.network.paths import Edge, LinkState, Path, Topology, lightest_path
from controllers.packets.segments import FlowKey
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean

DEFAULT_POLICY = "disjoint"

MAX_PATHS = 8
"""So many disjoint or equal paths are looked at: as many as Linux lets a connection have subflows."""

_FIRST = 1 << 120
_SECOND = 1 << 90
"""Weights of a link: above the sum of any path's `LinkState.cost`, and one above the other, so that ties are decided in
this order."""

_LOAD_STEP = 0.01
_LOAD_STEP_BPS = 1e6
"""Loads are compared in steps of this (part of the capacity; where that is unknown, bits per second): what hosts send
unasked must not decide."""


@dataclass(frozen=True)
class Wanted:
    """What a path is wanted for.

    Args:
        source, target: names of the switches where the flow enters and leaves; may be the same one.
        in_use: for each link how many of this connection's other subflows cross it; empty for the first.
        flow: the flow, if one is known already.
        multipath: False for single-path TCP, which no other subflow will follow.
        recent: for each link how many flows were put on it so lately that its load does not show them yet.
    """

    source: str
    target: str
    in_use: Counter[Edge]
    flow: FlowKey | None
    multipath: bool
    recent: Counter[Edge] = field(default_factory=Counter)


@dataclass(frozen=True)
class Policy:
    """A policy by name.

    Args:
        name: as in options and figures.
        description: one line for `--help`.
        function: finds the path.
        lasting: whether its choice for a first flow holds as long as the topology's version: it looks at neither loads
            nor the flow.
        in_switch: whether it is to be done in the switch, by a select group over `Topology.equal_cost_paths`; `choose`
            is then the same, done by the controller.
    """

    name: str
    description: str
    function: Callable[[Topology, Wanted], Path | None]
    lasting: bool = True
    in_switch: bool = False

    def choose(
        self,
        topology: Topology,
        source: str,
        target: str,
        in_use: Counter[Edge],
        *,
        flow: FlowKey | None = None,
        multipath: bool = True,
        recent: Counter[Edge] | None = None,
    ) -> Path | None:
        """The path for one more flow, or None if there is no way; links that are down are in no path.

        Args:
            topology: what there is.
            source, target, in_use, flow, multipath, recent: see `Wanted`. Only `ecmp` looks at the flow, and needs it;
                only `least-loaded` looks at `recent`.
        """
        wanted = Wanted(source, target, in_use, flow, multipath, recent or Counter())
        if in_use or not self.lasting:
            return self.function(topology, wanted)
        what = (self.function, source, target, multipath)
        return topology.remembered(what, lambda: self.function(topology, wanted))


def shortest(topology: Topology, wanted: Wanted) -> Path | None:
    """Of the paths with the fewest links one that shares fewest with the others, then the least delay."""
    return _lightest(topology, wanted, lambda state: _FIRST + wanted.in_use[state.edge] * _SECOND)


def disjoint(topology: Topology, wanted: Wanted) -> Path | None:
    """One of the most paths that share nothing; when all these are in use, the one that shares least."""
    if not wanted.multipath:
        return shortest(topology, wanted)
    candidates = topology.disjoint_paths(wanted.source, wanted.target, MAX_PATHS)
    best = min(candidates, key=lambda path: _shared(path, wanted), default=None)
    if best is None or not _shared(best, wanted):
        return best
    # Subflows from elsewhere may be on all of them, and on no other.
    least = _lightest(topology, wanted, _sharing(wanted))
    return least if least is not None and _shared(least, wanted) < _shared(best, wanted) else best


def widest(topology: Topology, wanted: Wanted) -> Path | None:
    """Of the paths that share least the one whose slowest link is fastest; an unknown capacity counts as unlimited."""
    return _best_bottleneck(topology, wanted, lambda state: -(state.capacity_bps or float("inf")))


def least_loaded(topology: Topology, wanted: Wanted) -> Path | None:
    """Of the paths that share least the one whose busiest link is least busy, for its capacity where all are known.

    A flow that counters do not show yet counts as one that fills its link: TCP takes what it gets. Where capacities are
    unknown it counts as much as there is on the busiest link.
    """
    states = _usable_links(topology)
    if all(state.capacity_bps for state in states):
        full = 1 / _LOAD_STEP
        loads = {state.edge: state.load_bps / state.capacity_bps // _LOAD_STEP for state in states}
    else:
        loads = {state.edge: state.load_bps // _LOAD_STEP_BPS for state in states}
        full = 1 + max(loads.values(), default=0)
    return _best_bottleneck(topology, wanted, lambda state: loads[state.edge] + full * wanted.recent[state.edge])


def single(topology: Topology, wanted: Wanted) -> Path | None:
    """A path that uses as few links as possible that the connection does not use already."""
    return _lightest(topology, wanted, lambda state: 0 if wanted.in_use[state.edge] else _FIRST)


def ecmp(topology: Topology, wanted: Wanted) -> Path | None:
    """One of the paths with the fewest links, by a hash of the flow; knows nothing of connections.

    Raises:
        ValueError: no flow was given.
    """
    if wanted.flow is None:
        raise ValueError("ecmp hashes the flow: give one")
    paths = topology.equal_cost_paths(wanted.source, wanted.target, MAX_PATHS)
    return paths[ecmp_choice(wanted.flow, len(paths))] if paths else None


def ecmp_choice(flow: FlowKey, n: int) -> int:
    """A number from 0 to n-1 that follows from the flow alone, evenly spread; the same in every process."""
    text = f"{flow.source} {flow.destination} {flow.source_port} {flow.destination_port}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % n


_ALL = (
    Policy("disjoint", "subflows of a connection share no link as long as the network allows it", disjoint),
    Policy("shortest", "the path with the fewest links; of several one that shares least", shortest),
    Policy("widest", "subflows share no link, each on the path with the widest bottleneck", widest),
    Policy("least-loaded", "subflows share no link, each on the path with the least load", least_loaded, lasting=False),
    Policy("single", "all subflows of a connection on one path: what MPTCP gains without a second", single),
    Policy(
        "ecmp",
        "a hash of the flow among the shortest paths, without knowledge of MPTCP",
        ecmp,
        lasting=False,
        in_switch=True,
    ),
)

POLICIES: Mapping[str, Policy] = MappingProxyType({policy.name: policy for policy in _ALL})
"""All policies, the default first."""


def policy_named(name: str) -> Policy:
    """The policy of this name.

    Raises:
        UsageError: there is none; the hint has the nearest name, or all.
    """
    if name not in POLICIES:
        raise UsageError(f"policy: there is no {name!r}", did_you_mean(name.lower().replace("_", "-"), POLICIES))
    return POLICIES[name]


def _shared(path: Path, wanted: Wanted) -> int:
    return sum(wanted.in_use[edge] for edge in path.edges)


def _sharing(wanted: Wanted) -> Callable[[LinkState], int]:
    return lambda state: wanted.in_use[state.edge] * _FIRST


def _lightest(topology: Topology, wanted: Wanted, weight: Callable[[LinkState], int]) -> Path | None:
    """The path with the least sum of weights; of several that with the fewest links, then the least delay."""
    return lightest_path(topology.graph, wanted.source, wanted.target, lambda state: weight(state) + state.cost)


def _best_bottleneck(topology: Topology, wanted: Wanted, badness: Callable[[LinkState], float]) -> Path | None:
    """Of the paths that share least the one whose worst link is least bad, then as `_lightest`.

    The least bound on badness under which a path shares no more than without a bound is found by bisection.
    """
    best = _lightest(topology, wanted, _sharing(wanted))
    if best is None or not best.edges:
        return best
    share, sharing = _shared(best, wanted), _sharing(wanted)
    worst = max(badness(topology.state(edge)) for edge in best.edges)
    bounds = sorted({bad for bad in map(badness, _usable_links(topology)) if bad < worst})
    while bounds:
        middle = len(bounds) // 2
        bound = bounds[middle]
        path = lightest_path(
            topology.graph,
            wanted.source,
            wanted.target,
            lambda state, bound=bound: sharing(state) + state.cost if badness(state) <= bound else None,
        )
        if path is None or _shared(path, wanted) > share:
            bounds = bounds[middle + 1 :]
        else:
            best, bounds = path, bounds[:middle]
    return best


def _usable_links(topology: Topology) -> list[LinkState]:
    return [state for _, _, state in topology.graph.edges(data="state") if state.up]
