"""Flows that are too new to show in the load of their links, so that simultaneous flows do not all take one link."""

from collections import Counter, deque
from collections.abc import Iterable

from controllers.network.paths import Edge

SHOWN_AFTER_S = 2.0
"""By then the counters have been read twice, and a link's load contains most of the flow."""


class RecentFlows:
    """The links on which flows have recently been placed."""

    def __init__(self) -> None:
        self._added: deque[tuple[float, tuple[Edge, ...]]] = deque()
        self._on_link: Counter[Edge] = Counter()

    def add(self, edges: Iterable[Edge], now_s: float) -> None:
        """Notes that a flow has been placed on these links."""
        self._added.append((now_s, tuple(edges)))
        self._on_link.update(self._added[-1][1])

    def per_link(self, now_s: float) -> Counter[Edge]:
        """The number of recent flows on each link; read only."""
        while self._added and self._added[0][0] + SHOWN_AFTER_S <= now_s:
            self._on_link.subtract(self._added.popleft()[1])
        return self._on_link
