"""Flows so new that no counter shows them yet: without it flows that begin together would all take the idlest link."""

from collections import Counter, deque
from collections.abc import Iterable

from controllers.network.paths import Edge

SHOWN_AFTER_S = 2.0
"""By then the ports' counters have been read twice, and a link's load has most of the flow in it."""


class RecentFlows:
    """On which links flows have been put lately."""

    def __init__(self) -> None:
        self._added: deque[tuple[float, tuple[Edge, ...]]] = deque()
        self._on_link: Counter[Edge] = Counter()

    def add(self, edges: Iterable[Edge], now_s: float) -> None:
        """A flow has been put on these links."""
        self._added.append((now_s, tuple(edges)))
        self._on_link.update(self._added[-1][1])

    def per_link(self, now_s: float) -> Counter[Edge]:
        """So many flows on each link are that new; to be read only."""
        while self._added and self._added[0][0] + SHOWN_AFTER_S <= now_s:
            self._on_link.subtract(self._added.popleft()[1])
        return self._on_link
