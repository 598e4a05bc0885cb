"""Which hosts' ports the controller listens to: without it one host that floods would take its time from all others."""

from collections.abc import Callable

from controllers.network.description import SwitchPort
from controllers.openflow.rules import Rule
from controllers.subflows.connections import Counters, SynGuard

QuietRules = Callable[[int, int], tuple[Rule, ...]]
"""The rules that keep a port from being heard, for so many seconds."""


class PortGuard:
    """A `SynGuard` for one kind of frames, and what makes a port be quiet that sends too many of them.

    Args:
        rate_per_s, burst: frames of this kind from a port.
        counters: where turned-away ones are counted.
        quiet_s: so long a port that sends more is not heard.
        quiet_rules: the rules for that.
        complaint: what such a port does, for people.

    Attributes:
        complaint: see above.
        quietened: how often a port was.
    """

    def __init__(
        self,
        rate_per_s: float,
        burst: int,
        counters: Counters,
        *,
        quiet_s: int,
        quiet_rules: QuietRules,
        complaint: str,
    ) -> None:
        self.complaint = f"{complaint}: it is not heard for {quiet_s} s"
        self.quietened = 0
        self._guard = SynGuard(rate_per_s, burst, counters)
        self._quiet_s = quiet_s
        self._quiet_rules = quiet_rules
        self._quiet_until: dict[SwitchPort, float] = {}

    def admits(self, ingress: SwitchPort, now_s: float) -> bool:
        """Whether the controller has time for a frame from this port."""
        return self._guard.admits(ingress, now_s)

    def quieten(self, ingress: SwitchPort, now_s: float) -> tuple[Rule, ...]:
        """The rules that make a port be quiet; none if it has been told so and still is."""
        if self._quiet_until.get(ingress, now_s) > now_s:
            return ()
        self._quiet_until[ingress] = now_s + self._quiet_s
        self.quietened += 1
        return self._quiet_rules(ingress.port, self._quiet_s)
