"""Descriptions of networks as files, and what a controller answers to `show`: read, or refused in a sentence."""

import contextlib
import random
from dataclasses import asdict

from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from controllers.network.paths import Topology
from controllers.network.reading import parse_network
from controllers.openflow.labels import Labels, interface_numbers
from controllers.openflow.steering_rules import base_rules
from flightpath.errors import UsageError
from tests.fuzz.mutation import json_or_bytes

NETWORK = Network(
    (Switch("s1", 1), Switch("s2", 2)),
    tuple(
        Host(f"h{n}", (Interface(f"h{n}-eth0", f"02:00:00:00:00:0{n}", (f"10.0.0.{n}", f"fd00::{n}"), f"s{n}", 9),))
        for n in (1, 2)
    ),
    (Link(SwitchPort("s1", 1), SwitchPort("s2", 1)), Link(SwitchPort("s1", 2), SwitchPort("s2", 2))),
)


def made(chance: random.Random) -> bytes:
    return json_or_bytes(chance, [asdict(NETWORK)])


def read(data: bytes) -> None:
    """Reads it; of one that is accepted, paths and rules can be computed."""
    with contextlib.suppress(UsageError):
        network = parse_network(data, "file")
        assert parse_network(network.to_json(), "file") == network
        topology = Topology.from_network(network)
        labels = Labels.for_hosts(it.mac for it in network.interfaces)
        for switch in network.switches:
            base_rules(network, network, switch, labels, interface_numbers(network), learning=False)
            for other in network.switches:
                topology.disjoint_paths(switch.name, other.name, 4)
