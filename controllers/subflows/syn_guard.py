"""Holds back a flood of SYNs: without it one host could take all of the controller's time."""

from collections.abc import Hashable

from controllers.subflows.connection_records import Counters


class SynGuard:
    """A token bucket per ingress port: says whether a SYN may take the controller's time.

    It remembers two numbers for each port that it has been asked about.

    Args:
        rate_per_s: SYNs per second that each port may send in the long run.
        burst: SYNs that a port which was silent may send at once; at least 1.
        counters: where SYNs that were turned away are counted (`rate_limited`).
    """

    def __init__(self, rate_per_s: float, burst: int, counters: Counters) -> None:
        self._rate_per_s = rate_per_s
        self._burst = float(burst)
        self._counters = counters
        self._buckets: dict[Hashable, tuple[float, float]] = {}

    def admits(self, ingress: Hashable, now_s: float) -> bool:
        """Whether the controller shall look at this SYN; it is charged to the port if so."""
        left, since_s = self._buckets.get(ingress, (self._burst, now_s))
        left = min(self._burst, left + (now_s - since_s) * self._rate_per_s)
        admitted = left >= 1
        self._buckets[ingress] = (left - admitted, now_s)
        self._counters.rate_limited += not admitted
        return admitted
