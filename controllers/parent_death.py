"""Ends this process when its parent ends."""

import os
import signal
from types import FrameType

from flightpath import libc

_PARENT_ENDED = signal.SIGUSR1


def end_with_parent() -> None:
    """Makes this process exit with code 0 when its parent ends, and on SIGTERM and SIGINT: at once and in silence.

    The kernel also sends its signal when only the parent's thread that started this process ends (prctl(2)), so the
    handler checks whether the parent is still the same. The check after prctl is for a parent that ended before.

    Raises:
        OSError: prctl failed.
    """
    parent = os.getppid()

    def end(number: int, _frame: FrameType | None) -> None:
        if number != _PARENT_ENDED or os.getppid() != parent:
            os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT, _PARENT_ENDED):
        signal.signal(number, end)
    libc.request_signal_at_parents_end(_PARENT_ENDED)
    end(_PARENT_ENDED, None)
