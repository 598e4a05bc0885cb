"""A thread that calls functions at given times, for emulators without a scheduler of their own."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Timer:
    """Calls functions at their times, one after the other, on a thread that starts with the first.

    The first exception ends it, and is in `problem`.
    """

    def __init__(self) -> None:
        self.problem: Exception | None = None
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def call(self, at_ns: int | None, action: Callable[[], None]) -> None:
        """Calls `action` at a time on CLOCK_MONOTONIC; for None, immediately and on this thread."""
        if at_ns is None:
            action()
            return
        with self._changed:
            heapq.heappush(self._due, (at_ns, next(self._order), action))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="link timer", daemon=True)
                self._thread.start()
            self._changed.notify()

    def stop(self) -> None:
        """Cancels the actions that are not due yet, and waits for one that is running."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while (action := self._next()) is not None:
                action()
        except Exception as error:
            self.problem = error

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._stopped:
                wait_s = (self._due[0][0] - time.monotonic_ns()) / 1e9 if self._due else None
                if wait_s is not None and wait_s <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(wait_s)
        return None
