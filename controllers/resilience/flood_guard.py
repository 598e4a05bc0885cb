"""Flood guards: limit how many frames of one kind a port may send to the controller, and mute ports that send more."""

from collections.abc import Callable

from controllers.network.description import SwitchPort
from controllers.openflow.rules import Rule
from controllers.subflows.connection_records import Counters

MuteRules = Callable[[int, int], tuple[Rule, ...]]
"""Returns the rules that mute a port, given by its number, for so many seconds."""


class FloodGuard:
    """A token bucket per port, for one kind of frames.

    Args:
        rate_per_s: frames per second that a port may send in the long run.
        burst: frames that a port may send at once after a silence; at least 1.
        counters: counts rejected frames (`rate_limited`).
        complaint: what a port that sends more does, for the log.

    Attributes:
        muted: how often a port has been muted.
    """

    def __init__(
        self, rate_per_s: float, burst: int, counters: Counters, *, mute_s: int, mute_rules: MuteRules, complaint: str
    ) -> None:
        self.complaint = f"{complaint}: ignored for {mute_s} s"
        self.muted = 0
        self._rate_per_s = rate_per_s
        self._burst = float(burst)
        self._counters = counters
        self._mute_s = mute_s
        self._mute_rules = mute_rules
        self._buckets: dict[SwitchPort, tuple[float, float]] = {}
        self._muted_until: dict[SwitchPort, float] = {}

    def admits(self, ingress: SwitchPort, now_s: float) -> bool:
        """Whether the controller should handle a frame from this port; if so, the frame takes a token."""
        tokens, since_s = self._buckets.get(ingress, (self._burst, now_s))
        tokens = min(self._burst, tokens + (now_s - since_s) * self._rate_per_s)
        admitted = tokens >= 1
        self._buckets[ingress] = (tokens - admitted, now_s)
        self._counters.rate_limited += not admitted
        return admitted

    def mute(self, ingress: SwitchPort, now_s: float) -> tuple[Rule, ...]:
        """The rules that mute a port; empty if it is still muted."""
        if self._muted_until.get(ingress, now_s) > now_s:
            return ()
        self._muted_until[ingress] = now_s + self._mute_s
        self.muted += 1
        return self._mute_rules(ingress.port, self._mute_s)
