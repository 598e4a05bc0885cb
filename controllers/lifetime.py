"""Ties this process to the one that started it: without it a killed testbed leaves a controller behind on its port."""

import os
import signal
from types import FrameType

from flightpath import libc

_PR_SET_PDEATHSIG = 1
_PARENT_GONE = signal.SIGUSR1


def end_with_parent() -> None:
    """From now on this process ends, with exit code 0, when its parent does, and on SIGTERM and SIGINT.

    It ends at once and says nothing: it holds nothing that the kernel does not take back.

    The kernel's signal also comes when only the parent's thread that started this process ends (prctl(2)), hence
    the look at who the parent is now. The look after prctl is for a parent that went before.

    Raises:
        OSError: prctl failed.
    """
    parent = os.getppid()

    def end(_signal: int, _frame: FrameType | None) -> None:
        os._exit(0)

    def end_if_orphan(_signal: int, _frame: FrameType | None) -> None:
        if os.getppid() != parent:
            os._exit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(_PARENT_GONE, end_if_orphan)
    libc.call("prctl", _PR_SET_PDEATHSIG, _PARENT_GONE, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
