"""A pool of threads that ends in the same way each time."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

from flightpath.overrides import override


class ThreadPool(ThreadPoolExecutor):
    """A pool whose threads are joined in the order of their names.

    `ThreadPoolExecutor` joins them in the order of a set, which is that of their addresses. In virtual time this order
    decides when the joining thread goes on, and so which random numbers all others draw.

    Args:
        threads: maximum number of threads.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._threads: set[Thread] = _ByName()


class _ByName(set[Thread]):
    @override
    def __iter__(self) -> Iterator[Thread]:
        return iter(sorted(super().__iter__(), key=lambda thread: thread.name))
