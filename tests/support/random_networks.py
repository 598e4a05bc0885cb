"""Random networks for property tests of forwarding and steering."""

import random

from hypothesis import strategies as st

from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort


@st.composite
def networks(draw):
    """Random networks: at most 6 switches (parallel links and separate parts too), and 3 hosts with 6 interfaces."""
    names = [f"s{i + 1}" for i in range(draw(st.integers(1, 6)))]
    chance = random.Random(draw(st.integers(0, 2**32 - 1)))
    free = {name: chance.sample(range(1, 40), 39) for name in names}

    def plug(name):
        return SwitchPort(name, free[name].pop())

    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=10))
    links = tuple(Link(plug(a), plug(b)) for a, b in pairs if a != b)
    hosts = []
    places = draw(st.lists(st.lists(st.sampled_from(names), min_size=1, max_size=2), max_size=3))
    for i, of_host in enumerate(places, start=1):
        interfaces = []
        for j, name in enumerate(of_host):
            at = plug(name)
            mac, addresses = f"02:00:00:00:{i:02x}:{j:02x}", (f"10.{j}.0.{i}", f"fd00:{j}::{i}")
            interfaces.append(Interface(f"h{i}-eth{j}", mac, addresses, at.switch, at.port))
        hosts.append(Host(f"h{i}", tuple(interfaces)))
    dpids = chance.sample(range(1, len(names) + 1), len(names))
    return Network(tuple(Switch(n, d) for n, d in zip(names, dpids, strict=True)), tuple(hosts), links)
