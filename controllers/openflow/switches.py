"""The switches that are connected, and what has been sent to each."""

from dataclasses import dataclass, field

from controllers.network.description import Network, Switch
from controllers.openflow.channel import Channel
from controllers.openflow.rules import DROP_PRIORITY, Rule

DROP_S = 5
"""Time for which a switch drops frames to an unknown destination before it reports another one."""

MAX_DROP_RULES = 32
"""Maximum number of unknown destinations of a switch with a rule of their own; beyond it, one rule drops them all."""


class TableMissLimiter:
    """The unknown destinations of one switch, limited in how many frames to them reach the controller.

    The controller counts the first frame to an unknown destination, and answers it with a rule that drops further ones
    for a while. If there are many unknown destinations (a scan, a random generator), one rule drops all frames to them.

    Attributes:
        count: number of reports of destinations since the switch connected.
    """

    def __init__(self) -> None:
        self.count = 0
        self._dropped_until: dict[str | None, float] = {}

    def report(self, mac: str, now_s: float) -> Rule | None:
        """Notes a frame to an unknown destination; returns the rule to install, if none covers the frame yet."""
        self._dropped_until = {key: until for key, until in self._dropped_until.items() if until > now_s}
        if None in self._dropped_until or mac in self._dropped_until:
            return None
        self.count += 1
        key = None if len(self._dropped_until) >= MAX_DROP_RULES else mac
        self._dropped_until[key] = now_s + DROP_S
        return Rule(DROP_PRIORITY, () if key is None else (("eth_dst", key),), None, hard_timeout_s=DROP_S)


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
