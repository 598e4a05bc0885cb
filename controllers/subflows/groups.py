"""Lets switches spread flows by themselves, as ECMP does: without it there would be nothing to compare steering with.

Each edge switch has a select group per interface elsewhere, with a bucket per path of the fewest links. The switch
picks the bucket by a hash of the flow, each direction of a flow for itself; what belongs to one MPTCP connection it
does not know.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from controllers.network.description import Interface, Network
from controllers.network.paths import Path, Topology
from controllers.openflow.cookies import Kind
from controllers.openflow.labels import Interfaces, Labels
from controllers.openflow.library import Datapath
from controllers.openflow.messages import add_rule, set_group
from controllers.openflow.steering_rules import group_buckets, group_rules, path_rules
from controllers.subflows.placements import Placements, Writes
from controllers.subflows.policies import MAX_PATHS


@dataclass(frozen=True)
class Group:
    """A switch's group for an interface elsewhere.

    Args:
        switch: whose.
        target: where its frames go.
        paths: with their labels; at least one.
    """

    switch: str
    target: Interface
    paths: tuple[tuple[Path, str], ...]


class Groups:
    """Select groups in all edge switches.

    Args:
        placements: whose path numbers are used.
        topology: the paths.
        writer: takes the paths' rules.
        datapaths: the connected switches, by name.
    """

    def __init__(
        self, placements: Placements, topology: Topology, writer: Writes, datapaths: Mapping[str, Datapath]
    ) -> None:
        self._numbers = placements.paths
        self._topology = topology
        self._writer = writer
        self._datapaths = datapaths

    def write(self, network: Network, labels: Labels, interfaces: Interfaces, done: Callable[[bool], None]) -> None:
        """Writes them all, first the paths' rules; again when paths have come or gone.

        Args:
            network: who is where.
            labels, interfaces: the labels in use.
            done: called when all switches have the paths' rules and have been sent the groups, or one is not there.
        """
        groups = self._groups(network, labels, interfaces)
        paths = {self._numbers.number(path): path for group in groups for path, _ in group.paths}
        rules = [placed for number, path in paths.items() for placed in path_rules(path, number, labels)]
        present = [placed for placed in rules if placed.switch in self._datapaths]

        def written(ok: bool) -> None:
            for group in groups if ok else ():
                self._send(group, interfaces.number(group.target.mac))
            done(ok and len(present) == len(rules))

        self._writer.write([present], written)

    def _groups(self, network: Network, labels: Labels, interfaces: Interfaces) -> list[Group]:
        groups = []
        for switch in sorted({it.switch for it in network.interfaces}):
            for target in network.interfaces:
                paths = self._topology.equal_cost_paths(switch, target.switch, MAX_PATHS)
                number = interfaces.number(target.mac)
                labelled = tuple((path, labels.label(self._numbers.number(path), number)) for path in paths)
                if switch != target.switch and labelled:
                    groups.append(Group(switch, target, labelled))
        return groups

    def _send(self, group: Group, number: int) -> None:
        datapath = self._datapaths.get(group.switch)
        if datapath is not None:
            set_group(datapath, number, group_buckets(group.paths))
            for rule in group_rules(group.target, number):
                add_rule(datapath, rule, Kind.GROUP.cookie)
