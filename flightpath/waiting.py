"""Waiting for conditions, never for fixed times; longer timeouts on slow machines."""

import os
import time
from collections.abc import Callable

from flightpath.errors import MeasurementFailed

SLOW_MACHINE = "FLIGHTPATH_SLOW_MACHINE"
"""Environment variable that marks a slow machine, such as a VM without KVM, which needs longer timeouts."""
_SLOWDOWN = 8.0


def timeout_scale() -> float:
    """Returns the factor of all timeouts: 1, or more if FLIGHTPATH_SLOW_MACHINE is set."""
    return _SLOWDOWN if os.environ.get(SLOW_MACHINE) else 1.0


def wait_until(
    condition: Callable[[], bool],
    what: str,
    limit_s: float,
    *,
    check: Callable[[], None] = lambda: None,
    poll_s: float = 0.01,
    progress: Callable[[], object] = lambda: None,
) -> None:
    """Waits until `condition()` is true.

    Args:
        condition: called repeatedly; the pause between two calls grows from `poll_s` to ten times that.
        what: completes the error message "… waiting for", for example "nginx to answer".
        limit_s: timeout, multiplied by `timeout_scale()`; it begins anew whenever `progress()` returns something else.
        check: called before each pause; raises if waiting has become pointless (the process has ended).

    Raises:
        MeasurementFailed: the condition did not become true in time.
    """
    limit_s *= timeout_scale()
    deadline = time.monotonic() + limit_s
    pause, reached = poll_s, progress()
    while not condition():
        check()
        if (now := progress()) != reached:
            reached, deadline = now, time.monotonic() + limit_s
        if time.monotonic() > deadline:
            raise MeasurementFailed(f"gave up after {limit_s:g} s of waiting for {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, poll_s * 10)
