"""Ends this process when its parent ends."""

import os
import signal
from types import FrameType

from flightpath import libc

_PR_SET_PDEATHSIG = 1
_PARENT_ENDED = signal.SIGUSR1


def end_with_parent() -> None:
    """Makes this process exit with code 0 when its parent ends, and on SIGTERM and SIGINT.

    It exits at once and prints nothing: the kernel frees all that it holds.

    The kernel also sends its signal when only the parent's thread that started this process ends (prctl(2)), so the
    handler checks whether the parent is still the same. The check after prctl is for a parent that ended before.

    Raises:
        OSError: prctl failed.
    """
    parent = os.getppid()

    def end(_signal: int, _frame: FrameType | None) -> None:
        os._exit(0)

    def end_if_orphaned(_signal: int, _frame: FrameType | None) -> None:
        if os.getppid() != parent:
            os._exit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(_PARENT_ENDED, end_if_orphaned)
    libc.call("prctl", _PR_SET_PDEATHSIG, _PARENT_ENDED, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
