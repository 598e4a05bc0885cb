"""Calls of the C library that Python's `os` does not offer."""

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)


def call(function: str, *arguments: object, what: str = "") -> int:
    """Calls a function that returns a negative number when it fails, and returns what it returned.

    Args:
        function: its name, for example `setns`.
        arguments: as ctypes takes them.
        what: what was attempted, for the error; the function's name by default.

    Raises:
        OSError: it failed; with errno.
    """
    returned = getattr(_LIBC, function)(*arguments)
    if returned < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what or function)
    return returned
