"""Policies: how a path is chosen for a flow.

A policy is a function from the topology and a `PathRequest` to a path. The decorator `policy` registers it under its
name, with dashes for underscores, and with the first line of its docstring as its description.
"""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from controllers.network.paths import Edge, LinkState, Path, Topology, lightest_path
from controllers.packets.segments import FlowKey
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean

DEFAULT_POLICY = "disjoint"

MAX_PATHS = 8
"""Maximum number of disjoint or equal paths that are considered: Linux's maximum of subflows per connection."""

_FIRST = 1 << 120
_SECOND = 1 << 90
"""Weights of a link: the second exceeds the sum of any path's `LinkState.cost`, and the first any sum of the second,
so that they are compared in this order."""

_LOAD_STEP = 0.01
_LOAD_STEP_BPS = 1e6
"""Loads are compared in steps (of the capacity, or in bits per second if it is unknown), so that background traffic
does not decide."""


@dataclass(frozen=True)
class PathRequest:
    """The flow that needs a path.

    Args:
        source, target: names of the switches where the flow enters and leaves; may be equal.
        in_use: for each link how many of this connection's other subflows cross it.
        flow: only `ecmp` needs it.
        multipath: False for single-path TCP, which no other subflow will follow.
        recent: for each link how many flows have been placed on it too recently to show in its load.
    """

    source: str
    target: str
    in_use: Counter[Edge] = field(default_factory=Counter)
    flow: FlowKey | None = None
    multipath: bool = True
    recent: Counter[Edge] = field(default_factory=Counter)


Choice = Callable[[Topology, PathRequest], Path | None]


@dataclass(frozen=True)
class Policy:
    """A registered policy.

    Args:
        cacheable: the choice for a first flow holds until the topology's version changes, because it depends neither on
            loads nor on the flow.
        in_switch: the switch chooses, by a select group over `Topology.equal_cost_paths`.
    """

    name: str
    description: str
    function: Choice
    cacheable: bool
    in_switch: bool

    def choose(self, topology: Topology, request: PathRequest) -> Path | None:
        """Returns the path for one more flow, which uses no link that is down; None if there is none."""
        if request.in_use or not self.cacheable:
            return self.function(topology, request)
        key = (self.function, request.source, request.target, request.multipath)
        return topology.cached(key, lambda: self.function(topology, request))


POLICIES: dict[str, Policy] = {}
"""All policies by name, the default first."""


def policy(*, cacheable: bool = True, in_switch: bool = False) -> Callable[[Choice], Choice]:
    """Registers a function as a policy; for the arguments see `Policy`."""

    def register(function: Choice) -> Choice:
        name = function.__name__.replace("_", "-")
        description = (function.__doc__ or "").partition("\n")[0].rstrip(".")
        POLICIES[name] = Policy(name, description, function, cacheable, in_switch)
        return function

    return register


def policy_named(name: str) -> Policy:
    if name not in POLICIES:
        raise UsageError(f"policy: there is no {name!r}", did_you_mean(name.lower().replace("_", "-"), POLICIES))
    return POLICIES[name]


@policy()
def disjoint(topology: Topology, request: PathRequest) -> Path | None:
    """Subflows of a connection share no link as long as the network allows it.

    The path is one of the largest set of paths that share no link; if all of these are in use, the one that shares
    least with the other subflows.
    """
    if not request.multipath:
        return shortest(topology, request)
    candidates = topology.disjoint_paths(request.source, request.target, MAX_PATHS)
    best = min(candidates, key=lambda path: _shared(path, request), default=None)
    if best is None or not _shared(best, request):
        return best
    # Other subflows may be on all of these paths, and on no other one.
    least = _lightest(topology, request, _sharing(request))
    return least if least is not None and _shared(least, request) < _shared(best, request) else best


@policy()
def shortest(topology: Topology, request: PathRequest) -> Path | None:
    """The path with the fewest links; among equals the one that shares least, then the one with the least delay."""
    return _lightest(topology, request, lambda state: _FIRST + request.in_use[state.edge] * _SECOND)


@policy()
def widest(topology: Topology, request: PathRequest) -> Path | None:
    """Subflows share no link, each on the path whose slowest link is fastest; an unknown capacity is unlimited."""
    return _best_bottleneck(topology, request, lambda state: -(state.capacity_bps or float("inf")))


@policy(cacheable=False)
def least_loaded(topology: Topology, request: PathRequest) -> Path | None:
    """Subflows share no link, each on the path whose busiest link is least busy.

    Loads count in proportion to capacities if these are all known. A flow that is too new for the counters counts as
    one that fills its link, because TCP takes what it can get; if capacities are unknown, it counts as much as the
    busiest link carries.
    """
    states = _usable_links(topology)
    capacities = [state.capacity_bps for state in states if state.capacity_bps]
    if len(capacities) == len(states):
        full = 1 / _LOAD_STEP
        loads = {
            state.edge: state.load_bps / capacity_bps // _LOAD_STEP
            for state, capacity_bps in zip(states, capacities, strict=True)
        }
    else:
        loads = {state.edge: state.load_bps // _LOAD_STEP_BPS for state in states}
        full = 1 + max(loads.values(), default=0)
    return _best_bottleneck(topology, request, lambda state: loads[state.edge] + full * request.recent[state.edge])


@policy()
def single(topology: Topology, request: PathRequest) -> Path | None:
    """All subflows of a connection on one path: what MPTCP gains without a second path.

    The path has as few links as possible that the connection does not use already.
    """
    return _lightest(topology, request, lambda state: 0 if request.in_use[state.edge] else _FIRST)


@policy(cacheable=False, in_switch=True)
def ecmp(topology: Topology, request: PathRequest) -> Path | None:
    """A hash of the flow chooses among the shortest paths, without knowledge of MPTCP.

    Raises:
        ValueError: the request has no flow.
    """
    if request.flow is None:
        raise ValueError("ecmp needs a flow to hash")
    paths = topology.equal_cost_paths(request.source, request.target, MAX_PATHS)
    return paths[ecmp_choice(request.flow, len(paths))] if paths else None


def ecmp_choice(flow: FlowKey, n: int) -> int:
    """Hashes a flow to a number from 0 to n-1, which is the same in every process."""
    text = f"{flow.source} {flow.destination} {flow.source_port} {flow.destination_port}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % n


def _shared(path: Path, request: PathRequest) -> int:
    return sum(request.in_use[edge] for edge in path.edges)


def _sharing(request: PathRequest) -> Callable[[LinkState], int]:
    return lambda state: request.in_use[state.edge] * _FIRST


def _lightest(topology: Topology, request: PathRequest, weight: Callable[[LinkState], int]) -> Path | None:
    """Returns the path with the least sum of weights; among equals the one with the fewest links, then least delay."""
    return lightest_path(topology.graph, request.source, request.target, lambda state: weight(state) + state.cost)


def _best_bottleneck(topology: Topology, request: PathRequest, badness: Callable[[LinkState], float]) -> Path | None:
    """Returns the path whose worst link is least bad, of those that share least; among equals as `_lightest`.

    A binary search finds the lowest limit on badness under which a path shares no more than without a limit.
    """
    best = _lightest(topology, request, _sharing(request))
    if best is None or not best.edges:
        return best
    share, sharing = _shared(best, request), _sharing(request)
    bad = {state.edge: badness(state) for state in _usable_links(topology)}
    worst = max(bad[edge] for edge in best.edges)
    limits = sorted({it for it in bad.values() if it < worst})
    while limits:
        middle = len(limits) // 2
        limit = limits[middle]

        def weight(state: LinkState, limit: float = limit) -> int | None:
            return sharing(state) + state.cost if badness(state) <= limit else None

        path = lightest_path(topology.graph, request.source, request.target, weight)
        if path is None or _shared(path, request) > share:
            limits = limits[middle + 1 :]
        else:
            best, limits = path, limits[:middle]
    return best


def _usable_links(topology: Topology) -> list[LinkState]:
    return [state for state in topology.states if state.up]
