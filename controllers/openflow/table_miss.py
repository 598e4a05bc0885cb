"""Limits the frames to unknown destinations that a switch sends to the controller.

The controller counts the first frame to an unknown destination, and answers it with a rule that drops further ones for
a while. If there are many unknown destinations (a scan, a random generator), one rule drops all frames to them.
"""

from controllers.openflow.rules import DROP_PRIORITY, Rule

DROP_S = 5
"""Time for which a switch drops frames to an unknown destination before it reports another one."""

MAX_DROP_RULES = 32
"""Maximum number of unknown destinations of a switch with a rule of their own; beyond it, one rule drops them all."""


class TableMissLimiter:
    """The unknown destinations of one switch.

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
