"""Ends this process when its parent ends."""

import os
import signal
import threading
from types import FrameType

from flightpath import libc

_PARENT_ENDED = signal.SIGUSR1
_SIGNALS = (signal.SIGTERM, signal.SIGINT, _PARENT_ENDED)


def end_with_parent() -> None:
    """Makes this process exit with code 0 when its parent ends, and on SIGTERM and SIGINT: at once and in silence.

    A thread waits for the signals. Python would call a handler only between two steps of the main thread, and a signal
    that comes as the event loop begins to wait for its sockets would be handled when the wait ends, after a minute.

    Raises:
        OSError: prctl failed.
    """
    parent = os.getppid()
    signals, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_undo)
    for number in _SIGNALS:
        signal.signal(number, _left_to_the_thread)
    threading.Thread(target=_end_at_signal, args=(signals, parent), daemon=True).start()
    libc.request_signal_at_parents_end(_PARENT_ENDED)
    if os.getppid() != parent:  # it ended before prctl
        os._exit(0)


def _left_to_the_thread(_number: int, _frame: FrameType | None) -> None:
    """Handles a signal whose number was also written to the pipe."""


def _undo() -> None:
    """Lets signals do in a forked child, which has no such thread, what they do by default."""
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        if signal.getsignal(number) is _left_to_the_thread:
            signal.signal(number, signal.SIG_DFL)


def _end_at_signal(signals: int, parent: int) -> None:
    """Ends this process at a signal whose number comes from a pipe, unless an application handles that signal itself.

    The kernel also reports the parent's end when only the parent's thread that started this process ends (prctl(2)).
    """
    with open(signals, "rb", buffering=0) as numbers:
        while number := numbers.read(1):
            is_ours = signal.getsignal(number[0]) is _left_to_the_thread
            if is_ours and (number[0] != _PARENT_ENDED or os.getppid() != parent):
                os._exit(0)
