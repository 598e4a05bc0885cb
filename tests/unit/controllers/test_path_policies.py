"""Paths are real, disjoint and as many as there can be; each policy chooses what its name says, on any network."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.network.paths import Edge, LinkState, Path, Topology, edge_between
from controllers.packets.segments import FlowKey
from controllers.subflows.policies import MAX_PATHS, POLICIES, PathRequest, ecmp_choice, policy_named
from flightpath.errors import UsageError

SOURCE, TARGET = "s0", "s1"
FLOW = FlowKey("10.0.0.1", "10.0.0.2", 1000, 80)
CAPACITIES = st.sampled_from([None, 10e6, 20e6, 50e6])


def edges_between(pairs: Iterable[Iterable[str]]) -> Iterator[Edge]:
    """Yields a link for each pair of switches, at the next free port of either."""
    port: Counter[str] = Counter()
    for pair in pairs:
        port.update(pair)
        yield edge_between(*((switch, port[switch]) for switch in pair))


@st.composite
def link_states(draw, capacities=CAPACITIES):
    """Links between up to six switches, often parallel ones, some of them down."""
    switches = st.sampled_from([f"s{number}" for number in range(6)])
    pairs = st.lists(st.tuples(switches, switches).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=11)
    return [
        LinkState(
            edge,
            capacity_bps=draw(capacities),
            delay_s=draw(st.sampled_from([None, 0.001, 0.01])),
            load_bps=draw(st.sampled_from([0.0, 2e6, 9e6])),
            up=draw(st.integers(0, 9)) > 0,
        )
        for edge in edges_between(draw(pairs))
    ]


def topology_of(states) -> Topology:
    return Topology([SOURCE, TARGET], states)


def in_use_of(states):
    """Links that other subflows of the connection may use."""
    return st.dictionaries(st.sampled_from([state.edge for state in states]), st.integers(1, 3)).map(Counter)


networks = link_states()


def all_paths(states) -> list[tuple[Edge, ...]]:
    """The links of every path that visits no switch twice: by trying."""
    graph = networkx.MultiGraph()
    graph.add_nodes_from([SOURCE, TARGET])
    graph.add_edges_from((*state.edge[::2], state.edge, {}) for state in states if state.up)
    return [tuple(key for _, _, key in edges) for edges in networkx.all_simple_edge_paths(graph, SOURCE, TARGET)]


def most_disjoint(states) -> int:
    """The maximum flow, by another algorithm of another kind of graph."""
    graph = networkx.Graph()
    graph.add_nodes_from([SOURCE, TARGET])
    parallel = Counter(state.edge[::2] for state in states if state.up)
    graph.add_edges_from((*ends, {"capacity": count}) for ends, count in parallel.items())
    return networkx.maximum_flow_value(graph, SOURCE, TARGET)


def check_walk(path: Path, states) -> None:
    up = {state.edge for state in states if state.up}
    assert (path.switches[0], path.switches[-1]) == (SOURCE, TARGET)
    assert len(set(path.switches)) == len(path.switches) == len(path.hops) + 1
    for here, hop, there in zip(path.switches, path.hops, path.switches[1:], strict=False):
        assert (hop.switch, hop.next_switch) == (here, there)
        assert edge_between(hop[:2], hop[2:]) in up
    assert path.edges == tuple(edge_between(hop[:2], hop[2:]) for hop in path.hops)


def equal_paths(n: int) -> list[LinkState]:
    """`n` paths of two links from s0 to s1, each over a core switch of its own."""
    cores = [f"c{number}" for number in range(1, n + 1)]
    return [LinkState(edge) for edge in edges_between(pair for it in cores for pair in ((SOURCE, it), (it, TARGET)))]


@given(networks, st.integers(1, 9))
def test_disjoint_paths_are_walks_without_a_common_link_and_as_many_as_the_maximum_flow(states, limit):
    paths = topology_of(states).disjoint_paths(SOURCE, TARGET, limit)
    for path in paths:
        check_walk(path, states)
    edges = [edge for path in paths for edge in path.edges]
    assert len(edges) == len(set(edges))
    assert len(paths) == min(limit, most_disjoint(states))


@given(networks)
def test_disjoint_paths_are_the_shortest_in_sum_and_the_shortest_of_them_comes_first(states):
    topology, everything = topology_of(states), all_paths(states)
    paths = topology.disjoint_paths(SOURCE, TARGET, 2)
    assert [len(path.edges) for path in paths] == sorted(len(path.edges) for path in paths)
    if len(paths) == 2:
        pairs = [a + b for a, b in combinations(everything, 2) if not set(a) & set(b)]
        assert sum(len(path.edges) for path in paths) == min(map(len, pairs))
    if paths:
        (first,) = topology.disjoint_paths(SOURCE, TARGET, 1)
        assert len(first.edges) == min(map(len, everything))


@settings(max_examples=40)
@given(networks, st.randoms(use_true_random=False))
def test_paths_do_not_depend_on_the_order_of_links(states, chance):
    shuffled = chance.sample(states, len(states))
    one, other = Topology([SOURCE, TARGET], states), Topology([TARGET, SOURCE])
    for state in shuffled:
        other.update(state)
    for policy in POLICIES.values():
        choices = [policy.choose(it, PathRequest(SOURCE, TARGET, flow=FLOW)) for it in (one, other)]
        assert choices[0] == choices[1]
    assert one.disjoint_paths(SOURCE, TARGET, 8) == other.disjoint_paths(SOURCE, TARGET, 8)


@given(networks)
def test_equal_cost_paths_are_all_those_with_the_fewest_links(states):
    paths = topology_of(states).equal_cost_paths(SOURCE, TARGET, 1000)
    everything = all_paths(states)
    fewest = min(map(len, everything), default=0)
    assert sorted(path.edges for path in paths) == sorted(edges for edges in everything if len(edges) == fewest)
    for path in paths:
        check_walk(path, states)
    assert topology_of(states).equal_cost_paths(SOURCE, TARGET, 2) == paths[:2]


@pytest.mark.parametrize("name", POLICIES)
def test_a_path_needs_a_known_switch_and_no_links_to_the_switch_itself(name):
    path = POLICIES[name].choose(topology_of(equal_paths(2)), PathRequest(SOURCE, SOURCE, flow=FLOW))
    assert path == Path((SOURCE,), ())
    assert POLICIES[name].choose(topology_of([]), PathRequest("nowhere", SOURCE, flow=FLOW)) is None
    assert POLICIES[name].choose(topology_of([]), PathRequest(SOURCE, "nowhere", flow=FLOW)) is None


@given(networks, st.data(), st.sampled_from(sorted(POLICIES)), st.booleans())
def test_every_policy_chooses_a_walk_whenever_there_is_one(states, data, name, multipath):
    request = PathRequest(SOURCE, TARGET, data.draw(in_use_of(states)), flow=FLOW, multipath=multipath)
    path = POLICIES[name].choose(topology_of(states), request)
    assert (path is None) == (not all_paths(states))
    if path is not None:
        check_walk(path, states)


RANKS = {
    "shortest": lambda links, used: (len(links), sum(used)),
    "disjoint": lambda links, used: sum(used),
    "widest": lambda links, used: (sum(used), -min(it.capacity_bps or float("inf") for it in links), len(links)),
    "least-loaded": lambda links, used: (
        sum(used),
        max(round(it.load_bps / it.capacity_bps, 9) for it in links),
        len(links),
    ),
    "single": lambda links, used: used.count(0),
}
"""Cost that each policy minimises: of the links of a path, and of how many other subflows use each of them."""


@pytest.mark.parametrize("name", RANKS)
@given(data=st.data())
def test_no_path_is_better_than_the_chosen_one_in_what_the_policy_is_named_after(name, data):
    states = data.draw(link_states(st.sampled_from([10e6, 20e6])) if name == "least-loaded" else networks)
    in_use, known = data.draw(in_use_of(states)), {state.edge: state for state in states}

    def rank(edges):
        return RANKS[name]([known[edge] for edge in edges], [in_use[edge] for edge in edges])

    path = POLICIES[name].choose(topology_of(states), PathRequest(SOURCE, TARGET, in_use))
    if path is not None:
        assert rank(path.edges) == min(map(rank, all_paths(states)))


@given(networks)
def test_disjoint_gives_each_subflow_links_of_its_own_until_there_are_no_more(states):
    topology, in_use = topology_of(states), Counter()
    for _ in range(min(MAX_PATHS, most_disjoint(states))):
        path = POLICIES["disjoint"].choose(topology, PathRequest(SOURCE, TARGET, in_use))
        assert not any(in_use[edge] for edge in path.edges)
        in_use.update(path.edges)


def test_disjoint_does_not_fall_for_the_shortest_path_that_blocks_all_others():
    """It is the middle one, over a and b: with it no second one is disjoint."""
    pairs = ["s0-a", "s0-c", "a-b", "a-d", "c-e", "e-b", "b-s1", "d-f", "f-s1"]
    topology = topology_of(LinkState(edge) for edge in edges_between(pair.split("-") for pair in pairs))
    first = POLICIES["disjoint"].choose(topology, PathRequest(SOURCE, TARGET))
    second = POLICIES["disjoint"].choose(topology, PathRequest(SOURCE, TARGET, Counter(first.edges)))
    assert not set(first.edges) & set(second.edges)
    alone = POLICIES["disjoint"].choose(topology, PathRequest(SOURCE, TARGET, multipath=False))
    assert alone.switches == ("s0", "a", "b", "s1")


def test_least_loaded_does_without_capacities_and_ignores_noise():
    states = equal_paths(3)
    topology = topology_of(states)
    choose = POLICIES["least-loaded"].choose
    topology.update(LinkState(states[0].edge, load_bps=5e6))
    assert choose(topology, PathRequest(SOURCE, TARGET)).switches[1] == "c2"
    topology.update(LinkState(states[2].edge, load_bps=400.0))
    assert choose(topology, PathRequest(SOURCE, TARGET)).switches[1] == "c2"
    topology.update(LinkState(states[2].edge, load_bps=6e6))
    assert choose(topology, PathRequest(SOURCE, TARGET)).switches[1] == "c3"


@given(networks, st.lists(st.integers(1, 65535), min_size=1, max_size=5))
def test_ecmp_chooses_by_the_flow_among_the_shortest_whatever_is_in_use(states, ports):
    topology, in_use = topology_of(states), Counter()
    for port in ports:
        flow = FlowKey("10.0.0.1", "10.0.0.2", port, 80)
        path = POLICIES["ecmp"].choose(topology, PathRequest(SOURCE, TARGET, in_use, flow=flow))
        if path is not None:
            candidates = topology.equal_cost_paths(SOURCE, TARGET, MAX_PATHS)
            assert path == candidates[ecmp_choice(flow, len(candidates))]
            in_use.update(path.edges)


def test_ecmp_spreads_evenly_and_the_same_way_everywhere():
    flows = [FlowKey("10.0.0.1", "10.0.0.2", port, 80) for port in range(4000)]
    counts = Counter(ecmp_choice(flow, 4) for flow in flows)
    assert set(counts) == {0, 1, 2, 3}
    assert all(900 < count < 1100 for count in counts.values())
    assert [ecmp_choice(flow, 4) for flow in flows[:8]] == [1, 2, 1, 2, 0, 3, 3, 0]


def test_the_least_delay_decides_among_paths_of_equal_length():
    states = [replace(state, delay_s=0.05 if "c1" in state.edge else 0.01) for state in equal_paths(2)]
    for name in ("shortest", "disjoint", "widest", "least-loaded", "single"):
        assert POLICIES[name].choose(topology_of(states), PathRequest(SOURCE, TARGET)).switches == ("s0", "c2", "s1")


def test_policies_by_name():
    assert policy_named("least-loaded").name == "least-loaded"
    with pytest.raises(UsageError, match="did you mean 'least-loaded'"):
        policy_named("least_loded")
    with pytest.raises(UsageError, match="known: disjoint, shortest"):
        policy_named("qqq")


def test_changes_have_a_new_version_and_loads_keep_the_paths():
    topology, edge = topology_of(equal_paths(2)), equal_paths(2)[0].edge
    before, version = topology.disjoint_paths(SOURCE, TARGET, 8), topology.version
    topology.update(LinkState(edge, load_bps=1e6))
    assert (topology.version, topology.state(edge).load_bps) == (version, 1e6)
    assert topology.disjoint_paths(SOURCE, TARGET, 8) is before
    topology.update(LinkState(edge, up=False))
    assert topology.version != version
    for _ in range(2):
        topology.remove(edge)


@given(networks, networks)
def test_a_choice_is_remembered_only_as_long_as_it_holds(states, later):
    def choices(topology):
        everyone = [(policy, multipath) for policy in POLICIES.values() for multipath in (True, False)]
        return [p.choose(topology, PathRequest(SOURCE, TARGET, flow=FLOW, multipath=many)) for p, many in everyone]

    kept = topology_of(states)
    choices(kept)
    for state in states:
        kept.remove(state.edge)
    for state in later:
        kept.update(state)
    assert choices(kept) == choices(topology_of(later))
    loaded = [replace(state, load_bps=9e6 - state.load_bps) for state in later]
    for state in loaded:
        kept.update(state)
    assert choices(kept) == choices(topology_of(loaded))


def test_a_link_that_is_found_at_anothers_port_takes_its_place():
    topology = topology_of([LinkState(edge_between(("s0", 1), ("s1", 1)))])
    moved = edge_between(("s0", 1), ("s2", 1))
    topology.update(LinkState(moved))
    assert topology.edge_at("s0", 1) == moved
    assert topology.edge_at("s1", 1) is None
    assert topology.disjoint_paths(SOURCE, TARGET, 1) == ()
