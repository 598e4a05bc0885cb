"""Flood guards: limit how many frames of one kind a port may send to the controller, and mute ports that send more."""

from collections.abc import Callable
from dataclasses import dataclass, field

from controllers.network.description import SwitchPort
from controllers.openflow.event_table import PacketIn
from controllers.openflow.rules import Rule
from controllers.output import warn
from controllers.subflows.connection_records import Counters

_MUTE_S = 5


@dataclass
class FloodGuard:
    """A token bucket per port, for one kind of frames.

    Args:
        rate_per_s: frames per second that a port may send in the long run.
        burst: frames that a port may send at once after a silence; at least 1.
        counters: counts rejected frames (`rate_limited`).
        mute_rules: returns the rules that mute a port, given by its number, for a time in seconds.
        complaint: predicate of the log line about a port that sends more.

    Attributes:
        muted: number of times that a port has been muted.
    """

    rate_per_s: float
    burst: int
    counters: Counters
    mute_rules: Callable[[int, int], tuple[Rule, ...]]
    complaint: str
    muted: int = 0
    _buckets: dict[SwitchPort, tuple[float, float]] = field(default_factory=dict)
    _muted_until: dict[SwitchPort, float] = field(default_factory=dict)

    def admits(self, packet: PacketIn) -> bool:
        """Returns whether a frame may be handled: if so, it takes a token; if not, its port is muted for a while."""
        at, now_s = packet.ingress, packet.now_s
        tokens, since_s = self._buckets.get(at, (self.burst, now_s))
        tokens = min(self.burst, tokens + (now_s - since_s) * self.rate_per_s)
        is_admitted = tokens >= 1
        self._buckets[at] = (tokens - is_admitted, now_s)
        self.counters.rate_limited += not is_admitted
        if not is_admitted and self._muted_until.get(at, now_s) <= now_s:
            self._muted_until[at] = now_s + _MUTE_S
            self.muted += 1
            warn(f"{at} {self.complaint}: ignored for {_MUTE_S} s")
            packet.connection.channel.add_rules(self.mute_rules(at.port, _MUTE_S), packet.connection.cookie)
        return is_admitted
