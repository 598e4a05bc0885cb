"""Select groups: switches spread flows over paths by themselves, as ECMP does; the policy `ecmp` uses them.

Each edge switch has a select group for each interface at another switch, with one bucket per path with the fewest
links. The switch picks the bucket by a hash of the flow, separately for each direction. It does not know which flows
belong to one MPTCP connection.
"""

from collections.abc import Mapping

from controllers.network.description import Network
from controllers.network.paths import Topology
from controllers.openflow.cookies import RuleKind
from controllers.openflow.labels import InterfaceNumbers, Labels
from controllers.openflow.library import Datapath
from controllers.openflow.messages import add_rule, set_group
from controllers.openflow.rules import Output, SetDestination
from controllers.openflow.steering_rules import group_rules, path_rules
from controllers.subflows.placements import Placements, RuleWriter
from controllers.subflows.policies import MAX_PATHS


class Groups:
    """The select groups of all edge switches."""

    def __init__(
        self, placements: Placements, topology: Topology, writer: RuleWriter, datapaths: Mapping[str, Datapath]
    ) -> None:
        self._numbers = placements.paths
        self._topology = topology
        self._writer = writer
        self._datapaths = datapaths

    def write(self, network: Network, labels: Labels, interfaces: InterfaceNumbers) -> None:
        """Writes the rules of paths to the connected switches, then all groups. To be repeated when paths change."""
        groups = {
            (switch, target): paths
            for switch in sorted({it.switch for it in network.interfaces})
            for target in network.interfaces
            if target.switch != switch and (paths := self._topology.equal_cost_paths(switch, target.switch, MAX_PATHS))
        }
        numbers = {path: self._numbers.number(path) for paths in groups.values() for path in paths}
        rules = [rule for path, number in numbers.items() for rule in path_rules(path, number, labels)]

        def on_written(ok: bool) -> None:
            for (switch, target), paths in groups.items() if ok else ():
                if (datapath := self._datapaths.get(switch)) is not None:
                    group = interfaces.number(target.mac)
                    buckets = [
                        (SetDestination(labels.label(numbers[path], group)), Output(path.hops[0].port))
                        for path in paths
                    ]
                    set_group(datapath, group, buckets)
                    for rule in group_rules(target, group):
                        add_rule(datapath, rule, RuleKind.GROUP.cookie)

        self._writer.write([[rule for rule in rules if rule.switch in self._datapaths]], on_written)
