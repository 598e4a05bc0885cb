"""Installs the base rules of each switch when it connects: shortest-path forwarding, and what others build on it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from controllers.network.description import Network, Switch
from controllers.openflow.event_table import Event, EventTable, PacketIn, Publish
from controllers.openflow.rules import Rule, cookie_of, forwarding_rules, rule_key
from controllers.openflow.switches import SwitchConnection, Switches
from controllers.output import announce, warn
from flightpath.errors import FlightpathError


class RuleRefused(FlightpathError):
    """A switch refused a forwarding rule, so its network would not be the one described."""


@dataclass
class RuleManager:
    """Keeps the base rules of all switches up to date; nothing is learnt from traffic.

    If the switch's fail mode is `secure`, forwarding continues when this process ends and while it starts again: it
    writes its rules over the existing ones, and only then deletes rules that are out of date.

    Args:
        rules_of: returns the rules that a switch needs now.
        cookie_of: returns the cookie of these rules.
        sibling_bit: rules whose cookie differs in this bit are kept, because others manage them.
        miss_table: the flow table whose unmatched frames go to the controller.
    """

    switches: Switches
    rules_of: Callable[[Switch], tuple[Rule, ...]]
    publish: Publish
    cookie_of: Callable[[tuple[Rule, ...]], int] = cookie_of
    sibling_bit: int = 0
    miss_table: int = 0

    def on_connect(self, connection: SwitchConnection) -> None:
        """Sends a switch its rules, and deletes all others."""
        connection.rules = self.rules_of(connection.switch)
        connection.cookie = self.cookie_of(connection.rules)
        xids = connection.channel.add_rules(connection.rules, connection.cookie)
        connection.unconfirmed |= zip(xids, connection.rules, strict=True)
        connection.channel.delete_all_but(connection.cookie, self.sibling_bit)

    def request_confirmation(self, connection: SwitchConnection) -> None:
        """Requests a confirmation of everything that a switch has been sent since it connected."""
        connection.barrier = connection.channel.send_barrier()

    def on_confirmed(self, connection: SwitchConnection, xid: int) -> None:
        """Reports to the testbed that a switch has its rules."""
        if xid == connection.barrier:
            connection.unconfirmed.clear()
            announce(f"switch {connection.switch.name} ready: {len(connection.rules)} rules")
            self.publish(Event.READY, connection)

    def on_refused(self, connection: SwitchConnection, xid: int, error: str) -> None:
        """Handles the refusal of a message.

        Raises:
            RuleRefused: it was a base rule. The controller has to end, because half a network must not look complete.
        """
        rule = connection.unconfirmed.get(xid)
        if rule is not None:
            self.switches.disconnect(connection.channel)  # so that the reply to the barrier does not report it ready
            raise RuleRefused(f"switch {connection.switch.name} refused {rule}: {error}")

    def on_packet_in(self, packet: PacketIn) -> bool:
        """Reports a frame to an unknown destination, and makes the switch drop further ones for a while."""
        if packet.table != self.miss_table:
            return False
        connection, frame = packet.connection, packet.frame
        destination, source = frame[:6].hex(":"), frame[6:12].hex(":")
        rule = connection.miss_limiter.report(destination, packet.now_s)
        if rule is not None:
            connection.channel.add_rules([replace(rule, table=self.miss_table)], connection.cookie)
            count = connection.miss_limiter.count
            warn(f"switch {connection.switch.name}: no rule for {source} -> {destination} (no. {count}); dropped")
        return True

    def rewrite(self, *_change: object) -> None:
        """Updates the rules of all switches where they differ, because the network or a link has changed."""
        for connection in self.switches.by_channel.values():
            before, now = connection.rules, self.rules_of(connection.switch)
            keys = {rule_key(rule) for rule in now}
            connection.channel.add_rules(set(now) - set(before), connection.cookie)
            for rule in before:
                if rule_key(rule) not in keys:
                    connection.channel.delete_rule(rule)
            connection.rules = now


def warn_of_refusal(connection: SwitchConnection, _xid: int, error: str) -> None:
    """Reports the refusal of a message that no manager has taken."""
    warn(f"switch {connection.switch.name} refused a message: {error}")


def forwarding_table(network: Network) -> EventTable:
    """Returns the table of a controller that only forwards, over shortest paths."""
    table = EventTable(Switches(network))
    rules = RuleManager(table.switches, lambda switch: forwarding_rules(network, switch), table.handle)
    table.rows = {
        Event.CONNECTED: [rules.on_connect, rules.request_confirmation],
        Event.CONFIRMED: [rules.on_confirmed],
        Event.REFUSED: [rules.on_refused, warn_of_refusal],
        Event.PACKET_IN: [rules.on_packet_in],
    }
    return table
