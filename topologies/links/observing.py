"""Observation of events: the time at which a link shows the effect of each."""

import json
import threading
import time
from collections.abc import Callable, Sequence

from flightpath.commands import CommandFailed, run
from flightpath.errors import FlightpathError
from topologies.links.emulated_link import EmulatedInterface
from topologies.links.events import LinkEvent, Scheduled
from topologies.sandbox.kernel_settings import entry

_EVENT_TIMEOUT_S = 2.0
"""Time after which an event without a visible effect counts as failed."""

_POLL_S = 0.02


def has_happened(scheduled: Scheduled) -> bool:
    """Returns whether a link shows the effect of an event."""
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
    """Returns whether an interface is up and its cable connected; None if there is no such interface."""
    try:
        output = run([*entry(interface.node), "ip", "-json", "link", "show", "dev", interface.name])
    except CommandFailed:
        return None
    return {"UP", "LOWER_UP"} <= set(json.loads(output)[0]["flags"])


class EventObserver:
    """Waits for events in a thread, and reports when each took effect.

    Args:
        tell: callback for an event and the time since the start at which it took effect, in seconds; None if it did not
            within 2 s.
    """

    def __init__(self, tell: Callable[[LinkEvent, float | None], None] = lambda _event, _seen_s: None) -> None:
        self.seen_s: dict[LinkEvent, float | None] = {}
        """Time at which each event took effect, in seconds since the start.

        Without events that are not due yet, and those whose link had its next event before anybody looked: a link makes
        its changes in order, so the last one is judged.
        """
        self._tell, self._stopped = tell, threading.Event()
        self._threads: list[threading.Thread] = []

    def follow(self, scheduled: Sequence[Scheduled], start_ns: int) -> None:
        """Watches for events, whose times count from `start_ns` on CLOCK_MONOTONIC."""
        thread = threading.Thread(target=self._run, args=(scheduled, start_ns), name="events", daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self) -> None:
        """Stops watching, also for events that are not due yet."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, scheduled: Sequence[Scheduled], start_ns: int) -> None:
        ordered = sorted(scheduled, key=lambda each: each.due_ns)
        for number, each in enumerate(ordered):
            if self._stopped.wait(max(0.0, (each.due_ns - time.monotonic_ns()) / 1e9)):
                return
            following = (other.due_ns for other in ordered[number + 1 :] if other.link is each.link)
            next_ns = next(following, None)
            seen_ns = self._seen_ns(each, next_ns)
            if seen_ns is None and next_ns is not None and time.monotonic_ns() >= next_ns:
                continue
            self.seen_s[each.event] = seen_s = None if seen_ns is None else (seen_ns - start_ns) / 1e9
            self._tell(each.event, seen_s)

    def _seen_ns(self, scheduled: Scheduled, next_ns: int | None) -> int | None:
        deadline_ns = time.monotonic_ns() + round(_EVENT_TIMEOUT_S * 1e9)
        if next_ns is not None:
            deadline_ns = min(deadline_ns, next_ns)
        while True:
            try:
                if has_happened(scheduled):
                    return time.monotonic_ns()
            except FlightpathError:  # the link has ended, which the testbed's check reports
                return None
            if time.monotonic_ns() >= deadline_ns or self._stopped.wait(_POLL_S):
                return None
