"""The switches that are connected, and what has been sent to each."""

from dataclasses import dataclass, field

from controllers.network.description import Network, Switch
from controllers.openflow.channel import Channel
from controllers.openflow.rules import Rule
from controllers.openflow.table_miss import TableMissLimiter


@dataclass(eq=False)
class SwitchConnection:
    """The connection of a switch.

    Attributes:
        rules: its base rules, all with the same cookie.
        unconfirmed: the rules that it has not confirmed yet, by transaction id.
        barrier: the transaction id of the barrier that follows the rules; None: not sent yet.
        counters_requested_s: time of each request for its counters, by transaction id.
    """

    switch: Switch
    channel: Channel
    rules: tuple[Rule, ...] = ()
    cookie: int = 0
    unconfirmed: dict[int, Rule] = field(default_factory=dict)
    barrier: int | None = None
    miss_limiter: TableMissLimiter = field(default_factory=TableMissLimiter)
    counters_requested_s: dict[int, float] = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """Whether the switch has confirmed its rules."""
        return self.barrier is not None and not self.unconfirmed


@dataclass
class Switches:
    """The network's switches that are connected.

    Attributes:
        network: as described, or as far as it has been discovered.
        by_channel: all connections; a switch that reconnects has two until the old one is closed.
        by_name: the newest connection of each switch.
    """

    network: Network
    by_channel: dict[Channel, SwitchConnection] = field(default_factory=dict)
    by_name: dict[str, SwitchConnection] = field(default_factory=dict)

    def disconnect(self, channel: Channel) -> SwitchConnection | None:
        """Removes and returns a connection; the switch keeps its rules."""
        connection = self.by_channel.pop(channel, None)
        if connection is not None and self.by_name.get(connection.switch.name) is connection:
            del self.by_name[connection.switch.name]
        return connection
