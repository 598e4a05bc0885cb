"""Keeps frames to unknown destinations from drowning the controller: without it a storm of them takes a core.

The first such frame is counted and answered with a rule that drops the rest for a while. If the destinations are many
(a scan, a random generator), one rule drops them all for a while.
"""

from controllers.openflow.rules import Rule, hold_rule

HOLD_S = 5
"""So long a switch keeps an unknown destination to itself."""

MANY = 32
"""With more unknown destinations than this held at one switch, all of them are."""


class Misses:
    """What one switch sent without having a rule for it.

    Attributes:
        count: destinations reported, once per hold, since the switch connected.
    """

    def __init__(self) -> None:
        self.count = 0
        self._held_until: dict[str | None, float] = {}

    def seen(self, mac: str, now_s: float) -> Rule | None:
        """Notes a frame to `mac` and returns the rule to install, or None while one is on its way already.

        Args:
            mac: the frame's destination.
            now_s: the time, on a clock that never goes back.
        """
        self._held_until = {held: until for held, until in self._held_until.items() if until > now_s}
        if None in self._held_until or mac in self._held_until:
            return None
        self.count += 1
        held = None if len(self._held_until) >= MANY else mac
        self._held_until[held] = now_s + HOLD_S
        return hold_rule(held, HOLD_S)
