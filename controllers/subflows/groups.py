"""Select groups: switches spread flows over paths by themselves, as ECMP does; the policy `ecmp` uses them.

Each edge switch has a select group for each interface at another switch, with one bucket per path with the fewest
links. The switch picks the bucket by a hash of the flow, separately for each direction. It does not know which flows
belong to one MPTCP connection.
"""

from dataclasses import dataclass

from controllers.network.paths import Topology
from controllers.openflow.cookies import RuleKind
from controllers.openflow.rules import Output, SetDestination
from controllers.openflow.steering_rules import group_rules, path_rules
from controllers.openflow.switches import Switches
from controllers.openflow.writes import Writer
from controllers.subflows.placements import Placements
from controllers.subflows.policies import MAX_PATHS


@dataclass
class Groups:
    """The select groups of all edge switches."""

    placements: Placements
    topology: Topology
    writer: Writer
    switches: Switches

    def write(self, *_change: object) -> None:
        """Writes the rules of paths to the connected switches, then all groups. To be repeated when paths change."""
        network, labels = self.switches.network, self.placements.labels
        groups = {
            (switch, target): paths
            for switch in sorted({it.switch for it in network.interfaces})
            for target in network.interfaces
            if target.switch != switch and (paths := self.topology.equal_cost_paths(switch, target.switch, MAX_PATHS))
        }
        numbers = {path: self.placements.paths.number(path) for paths in groups.values() for path in paths}
        rules = [rule for path, number in numbers.items() for rule in path_rules(path, number, labels)]

        def on_written(ok: bool) -> None:
            for (switch, target), paths in groups.items() if ok else ():
                if (connection := self.switches.by_name.get(switch)) is not None:
                    group = self.placements.interfaces.number(target.mac)
                    buckets = [
                        (SetDestination(labels.label(numbers[path], group)), Output(path.hops[0].port))
                        for path in paths
                    ]
                    connection.channel.set_group(group, buckets)
                    connection.channel.add_rules(group_rules(target, group), RuleKind.GROUP.cookie)

        self.writer.write([[rule for rule in rules if rule.switch in self.switches.by_name]], on_written)
