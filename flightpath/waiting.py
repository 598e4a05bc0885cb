"""Waiting for a condition instead of a fixed time; timeouts are longer on slow machines."""

import os
import time
from collections.abc import Callable

from flightpath.errors import MeasurementFailed

SLOW_MACHINE = "FLIGHTPATH_SLOW_MACHINE"
"""Environment variable that marks the machine as slow (a VM without KVM): short limits, which reveal a fault elsewhere,
are too short there."""
_SLOWDOWN = 8.0


def timeout_scale() -> float:
    """The factor by which every timeout is multiplied: 1, or more if FLIGHTPATH_SLOW_MACHINE is set."""
    return _SLOWDOWN if os.environ.get(SLOW_MACHINE) else 1.0


def wait_until(
    condition: Callable[[], bool],
    what: str,
    limit_s: float,
    *,
    check: Callable[[], None] = lambda: None,
    poll_s: float = 0.01,
) -> None:
    """Returns as soon as `condition()` is true.

    Args:
        condition: called repeatedly; the pause between two calls grows from `poll_s` to ten times that.
        what: for the error message, after "waiting for", for example "nginx to answer".
        limit_s: how long to wait at most, in seconds; multiplied by `timeout_scale()`.
        check: called before each pause; raises if waiting has become pointless (the process has ended).

    Raises:
        MeasurementFailed: the condition did not become true in time.
    """
    limit_s *= timeout_scale()
    deadline = time.monotonic() + limit_s
    pause = poll_s
    while not condition():
        check()
        if time.monotonic() > deadline:
            raise MeasurementFailed(f"gave up after {limit_s:g} s of waiting for {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, poll_s * 10)
