"""Calls of the C library that Python's `os` module does not offer."""

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)


def call(function: str, *arguments: object, what: str = "") -> int:
    """Calls a function of the C library and returns its result.

    Args:
        function: its name, for example `setns`; it must return a negative number to report an error.
        arguments: as ctypes takes them.
        what: what was attempted, for the error message; the function's name by default.

    Raises:
        OSError: the call failed; `errno` says why.
    """
    result = getattr(_LIBC, function)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what or function)
    return result
