"""A clock that nobody can set for paramiko's time limits, which otherwise use the time of day."""

import time
from types import SimpleNamespace

from paramiko import auth_handler, buffered_pipe, channel, packet, proxy, transport

_STEADY = SimpleNamespace(**{**vars(time), "time": time.monotonic})


def use() -> None:
    """Gives paramiko's modules the monotonic clock for their time limits."""
    for module in (auth_handler, buffered_pipe, channel, packet, proxy, transport):
        module.time = _STEADY
