"""Sees that events have happened: when a link really is as an event makes it."""

import json
import threading
import time
from collections.abc import Callable, Sequence

from flightpath.commands import CommandFailed, run
from flightpath.errors import FlightpathError
from topologies.links.emulated_link import EmulatedInterface
from topologies.links.events import LinkEvent, Scheduled
from topologies.sandbox.kernel_settings import entry

_LATEST_S = 2.0
"""After which an event that is not seen counts as not happened."""

_POLL_S = 0.02


def has_happened(scheduled: Scheduled) -> bool:
    """Whether a link is now as an event makes it."""
    event, link = scheduled.event, scheduled.link
    if event.carrier is not None:
        ends = [has_carrier(end) for end in (link.intf1, link.intf2)]
        return all(ends) if event.carrier else not any(ends)
    directions = link.stats()["directions"]
    return all(
        directions[way]["spec"].get(key) == value
        for way in scheduled.directions
        for key, value in scheduled.reports[way].items()
    )


def has_carrier(interface: EmulatedInterface) -> bool | None:
    """Whether an interface is up and its cable is plugged in at both ends; None if there is no such interface."""
    try:
        shown = run([*entry(interface.node), "ip", "-json", "link", "show", "dev", interface.name])
    except CommandFailed:
        return None
    return {"UP", "LOWER_UP"} <= set(json.loads(shown)[0]["flags"])


class EventObserver:
    """Waits for events in a thread, and tells of each when it was seen.

    Args:
        tell: called with an event and its time since the start in seconds; None if it was not seen within 2 s.
    """

    def __init__(self, tell: Callable[[LinkEvent, float | None], None] = lambda _event, _seen_s: None) -> None:
        self.seen_s: dict[LinkEvent, float | None] = {}
        """When each event was seen, in seconds since the start; events that were not due yet are not there."""
        self._tell, self._stopped = tell, threading.Event()
        self._threads: list[threading.Thread] = []

    def follow(self, scheduled: Sequence[Scheduled], start_ns: int) -> None:
        """Watches for some events; their times count from `start_ns` on CLOCK_MONOTONIC."""
        thread = threading.Thread(target=self._run, args=(scheduled, start_ns), name="events", daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self) -> None:
        """Ends; what was not due yet is not waited for."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, scheduled: Sequence[Scheduled], start_ns: int) -> None:
        for each in sorted(scheduled, key=lambda each: each.due_ns):
            if self._stopped.wait(max(0.0, (each.due_ns - time.monotonic_ns()) / 1e9)):
                return
            seen_ns = self._seen_ns(each)
            self.seen_s[each.event] = seen_s = None if seen_ns is None else (seen_ns - start_ns) / 1e9
            self._tell(each.event, seen_s)

    def _seen_ns(self, scheduled: Scheduled) -> int | None:
        deadline_ns = time.monotonic_ns() + round(_LATEST_S * 1e9)
        while True:
            try:
                if has_happened(scheduled):
                    return time.monotonic_ns()
            except FlightpathError:  # the link has ended, which others notice
                return None
            if time.monotonic_ns() > deadline_ns or self._stopped.wait(_POLL_S):
                return None
