"""Which hosts' ports the controller listens to: without it one host that floods would take its time from all others."""

from controllers.connections import Counters, SynGuard
from controllers.network import SwitchPort


class PortGuard:
    """A `SynGuard` that remembers which ports have been told to be quiet.

    Args:
        rate_per_s, burst: frames from a port that begin, answer or end a connection.
        counters: where turned-away ones are counted.

    Attributes:
        quietened: how often a port was.
    """

    def __init__(self, rate_per_s: float, burst: int, counters: Counters) -> None:
        self.quietened = 0
        self._guard = SynGuard(rate_per_s, burst, counters)
        self._quiet_until: dict[SwitchPort, float] = {}

    def admits(self, ingress: SwitchPort, now_s: float) -> bool:
        """Whether the controller has time for a frame from this port."""
        return self._guard.admits(ingress, now_s)

    def quieten(self, ingress: SwitchPort, now_s: float, hold_s: float) -> bool:
        """Notes that a port is to be quiet for `hold_s` seconds; False if it has been told so and still is."""
        if self._quiet_until.get(ingress, now_s) > now_s:
            return False
        self._quiet_until[ingress] = now_s + hold_s
        self.quietened += 1
        return True
