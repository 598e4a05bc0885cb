"""Calls of the C library that Python's `os` module does not offer."""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_PIDFD_GETFD = 438


def call(function: str, *arguments: object, what: str = "") -> int:
    """Calls a function of the C library, whose result is negative on error, and returns the result.

    Raises:
        OSError: the call failed; has `errno`, and names `what` was attempted, by default the function.
    """
    result = getattr(_LIBC, function)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what or function)
    return result


def duplicate(process: int, descriptor: int) -> int:
    """Returns a copy of a descriptor of another process, which is given by a descriptor itself (pidfd_getfd(2)).

    Raises:
        OSError: the process has ended or closed it, or this one may not.
    """
    return call("syscall", _PIDFD_GETFD, process, descriptor, 0)


def copies_of_sockets(pid: int) -> Iterator[int]:
    """Yields a copy of each socket of another process, as far as this one may have it, to be closed by the caller.

    Raises:
        OSError: there is no such process, or its descriptors are not this one's to see.
    """
    process = os.pidfd_open(pid)
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):  # it is closed by now
                if str(entry.readlink()).startswith("socket:"):
                    yield duplicate(process, int(entry.name))
    finally:
        os.close(process)


def request_signal_at_parents_end(number: int) -> None:
    """Has the kernel send this process a signal when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG).

    The caller must check afterwards that the parent had not ended before this call.

    Raises:
        OSError: prctl failed.
    """
    call("prctl", _PR_SET_PDEATHSIG, number, 0, 0, 0)


def end_with(parent: int, number: int) -> None:
    """Has this process, which was just forked, get a signal when its parent ends; it exits if that has happened.

    Args:
        parent: PID of the parent.
        number: the signal.
    """
    request_signal_at_parents_end(number)
    if os.getppid() != parent:
        os._exit(1)
