"""Kills a daemon that has thousands of open sockets."""

import os
import subprocess
from contextlib import suppress
from typing import Any

from flightpath import libc
from flightpath.pools import ThreadPool

_THREADS = 64


def kill_closing_at_once(process: subprocess.Popen[Any]) -> None:
    """Kills a child process and waits for its end.

    A process that ends closes one descriptor after the other, and for each packet socket the kernel waits some
    milliseconds, until no processor can be using it (RCU): half a minute for a network with a thousand hosts. So this
    process gets copies of them first, and closes these in many threads, which wait together.
    """
    copies: list[int] = []
    with suppress(OSError):
        copies.extend(libc.copies_of_sockets(process.pid))
    process.kill()
    process.wait()
    with ThreadPool(_THREADS) as pool:
        list(pool.map(os.close, copies))
