"""Waiting for a condition, never for time: a fixed sleep is either too long or too short."""

import time
from collections.abc import Callable

from flightpath.errors import MeasurementFailed
from flightpath.timeout_scale import timeout_scale


def wait_until(
    condition: Callable[[], bool],
    what: str,
    limit_s: float,
    *,
    check: Callable[[], None] = lambda: None,
    poll_s: float = 0.01,
) -> None:
    """Returns as soon as `condition()` holds.

    Args:
        condition: asked again and again; the pause grows from `poll_s` to ten times it.
        what: for the error: "no NGINX to answer" reads badly, "nginx to answer" well.
        limit_s: give up after so many seconds; later on a slow machine (`timeout_scale`).
        check: called before each pause; raises when waiting has become pointless (the process has ended).

    Raises:
        MeasurementFailed: the condition did not come true in time.
    """
    limit_s *= timeout_scale()
    deadline = time.monotonic() + limit_s
    pause = poll_s
    while not condition():
        check()
        if time.monotonic() > deadline:
            raise MeasurementFailed(f"waited {limit_s:g} s in vain for {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, poll_s * 10)
