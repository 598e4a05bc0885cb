"""The channel to a switch: what managers send through it. Their tests use one in memory, without a switch or os-ken."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from controllers.openflow.rules import Action, Rule

CONTROLLER_PORT = 0xFFFFFFFD
"""OFPP_CONTROLLER: the ingress port of frames that the controller sends by itself."""


class Channel(Protocol):
    """Sends OpenFlow messages to one switch; equal channels are the same connection."""

    @property
    def dpid(self) -> int:
        """The switch's datapath id."""

    def add_rules(self, rules: Iterable[Rule], cookie: int) -> list[int]:
        """Sends rules; returns their transaction ids. Each replaces one with its priority and match without a gap."""

    def delete_rule(self, rule: Rule) -> None:
        """Deletes the rule with this priority and match, if there is one."""

    def delete_all_but(self, cookie: int, sibling_bit: int) -> None:
        """Deletes the rules in all tables that have another cookie, but for siblings.

        The upper 16 bits of a sibling's cookie differ in exactly `sibling_bit`; 0: there are no siblings.
        """

    def set_group(self, group: int, buckets: Iterable[Sequence[Action]]) -> None:
        """Creates or replaces a select group: the switch picks a bucket for each flow by a hash of its own."""

    def send_barrier(self) -> int:
        """Requests a reply when the switch has processed all earlier messages; returns the transaction id."""

    def send_frames(self, in_port: int, frames: Iterable[tuple[bytes, tuple[Action, ...]]]) -> None:
        """Makes the switch apply to each frame its actions, as if it had arrived at a port or from `CONTROLLER_PORT`.

        All are sent as one piece: a switch with many ports looks at each of them whenever it wakes up.
        """

    def request_rules(self, cookie: int, mask: int) -> None:
        """Requests all rules whose cookie equals this one under the mask."""

    def request_port_counters(self) -> int:
        """Requests the counters of all ports; returns the transaction id."""

    def request_ports(self) -> None:
        """Requests a description of all ports, with the state of their cables."""
