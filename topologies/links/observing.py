"""Observation of events: the time at which a link shows the effect of each."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from flightpath.commands import CommandFailed, run
from flightpath.errors import FlightpathError
from topologies.links.emulated_link import EmulatedInterface, EmulatedLink, by_kind
from topologies.links.events import LinkEvent, Scheduled
from topologies.sandbox.kernel_settings import entry

_EVENT_TIMEOUT_S = 2.0
"""Time after which an event without a visible effect counts as failed."""

_NEVER_NS = 2**63

_FIRST_POLL_S, _POLL_S = 0.001, 0.02
"""Time until links are looked at again, at first and at most: it doubles each time."""


def seen_ns(scheduled: Sequence[Scheduled]) -> list[int | None]:
    """Returns for each event when its link showed the effect, on CLOCK_MONOTONIC; None if it does not.

    Of a link that does not record its changes, that is now; such links are read together.
    """
    asked = dict.fromkeys(
        each.link for each in scheduled if each.event.carrier is None and not each.link.records_changes
    )
    reports: dict[EmulatedLink, Mapping[str, Any]] = {}
    for kind, links in by_kind(asked):
        reports |= zip(links, kind.stats_of(links), strict=True)
    return [_seen_ns(each, reports.get(each.link)) for each in scheduled]


def _seen_ns(scheduled: Scheduled, report: Mapping[str, Any] | None) -> int | None:
    event, link = scheduled.event, scheduled.link
    if event.carrier is not None:
        ends = [has_carrier(end) for end in (link.intf1, link.intf2)]
        is_shown = all(ends) if event.carrier else not any(ends)
    elif report is None:
        return link.change_made_ns(scheduled.due_ns)
    else:
        is_shown = all(
            report["directions"][way]["spec"].get(key) == value
            for way in scheduled.directions
            for key, value in scheduled.reports[way].items()
        )
    return time.monotonic_ns() if is_shown else None


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
        next_ns: dict[EmulatedLink, int] = {}
        overtaken_ns = []
        for each in reversed(ordered):
            overtaken_ns.append(_NEVER_NS if each.link.records_changes else next_ns.get(each.link, _NEVER_NS))
            next_ns[each.link] = each.due_ns
        with_next = zip(ordered, reversed(overtaken_ns), strict=True)
        for due_ns, group in groupby(with_next, key=lambda pair: pair[0].due_ns):
            if self._stopped.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9)):
                return
            self._observe(list(group), start_ns)

    def _observe(self, waiting: Sequence[tuple[Scheduled, int]], start_ns: int) -> None:
        """Waits until each event has happened, or the next one of its link is due, or for 2 s."""
        deadline_ns, pause_s = time.monotonic_ns() + round(_EVENT_TIMEOUT_S * 1e9), _FIRST_POLL_S
        while waiting:
            try:
                times = seen_ns([each for each, _ in waiting])
            except FlightpathError:  # a link has ended, which the testbed's check reports
                times, deadline_ns = [None] * len(waiting), 0
            now_ns, later = time.monotonic_ns(), []
            for (each, overtaken_ns), at_ns in zip(waiting, times, strict=True):
                if at_ns is not None:
                    self._report(each.event, (at_ns - start_ns) / 1e9)
                elif now_ns < min(deadline_ns, overtaken_ns):
                    later.append((each, overtaken_ns))
                elif now_ns < overtaken_ns:
                    self._report(each.event, None)
            waiting = later
            if waiting and self._stopped.wait(pause_s):
                deadline_ns = 0
            pause_s = min(2 * pause_s, _POLL_S)

    def _report(self, event: LinkEvent, seen_s: float | None) -> None:
        self.seen_s[event] = seen_s
        self._tell(event, seen_s)
