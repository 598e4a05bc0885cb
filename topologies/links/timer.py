"""A thread that makes changes at given times, for emulators without a scheduler of their own."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple


class _Due(NamedTuple):
    at_ns: int
    order: int
    make: Callable[[Sequence[Any]], None]
    owner: object
    change: Any


class Timer:
    """Makes changes at their times, on a thread that runs while any are due later.

    Changes that are due together and made by the same function are made by one call of it. The first exception ends the
    timer, and is in `problem`.
    """

    def __init__(self) -> None:
        self.problem: Exception | None = None
        self.made_ns: dict[int, int] = {}
        """Time at which the changes that were due at a time had been made; both on CLOCK_MONOTONIC."""
        self._due: list[_Due] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._making = threading.Lock()
        self._thread: threading.Thread | None = None

    def call(self, at_ns: int | None, make: Callable[[Sequence[Any]], None], owner: object, change: Any) -> None:
        """Calls `make` with a list that has `change`, at a time on CLOCK_MONOTONIC.

        Args:
            at_ns: None calls it immediately and on this thread.
            owner: whoever may cancel it.
        """
        if at_ns is None:
            make([change])
            return
        with self._changed:
            heapq.heappush(self._due, _Due(at_ns, next(self._order), make, owner, change))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="link timer", daemon=True)
                self._thread.start()
            self._changed.notify()

    def cancel(self, owner: object) -> None:
        """Cancels the owner's changes that are not due yet, and waits for those that are being made."""
        with self._changed:
            self._due = [each for each in self._due if each.owner is not owner]
            heapq.heapify(self._due)
            self._changed.notify()
        with self._making:
            pass

    def _run(self) -> None:
        try:
            while self._wait():
                with self._making:
                    due = self._take()
                    for make, changes in itertools.groupby(due, key=attrgetter("make")):
                        make([each.change for each in changes])
                    self.made_ns |= {each.at_ns: time.monotonic_ns() for each in due[:1]}
        except Exception as error:
            self.problem = error

    def _wait(self) -> bool:
        """Waits until something is due; returns False, and forgets the thread, if nothing will be."""
        with self._changed:
            while self._due:
                wait_s = (self._due[0].at_ns - time.monotonic_ns()) / 1e9
                if wait_s <= 0:
                    return True
                self._changed.wait(wait_s)
            self._thread = None
            return False

    def _take(self) -> list[_Due]:
        """Takes what is due at the earliest time, unless it was cancelled in the meantime."""
        with self._changed:
            earliest_ns = self._due[0].at_ns if self._due else 0
            taken = []
            while self._due and self._due[0].at_ns == earliest_ns <= time.monotonic_ns():
                taken.append(heapq.heappop(self._due))
            return taken
