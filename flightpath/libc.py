"""Calls of the C library that Python's `os` module does not offer."""

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


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


def request_signal_at_parents_end(number: int) -> None:
    """Has the kernel send this process a signal when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG).

    The caller must check afterwards that the parent had not ended before this call.

    Raises:
        OSError: prctl failed.
    """
    call("prctl", _PR_SET_PDEATHSIG, number, 0, 0, 0)
