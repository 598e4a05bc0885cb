"""Time limits of paramiko by a clock that nobody can set; by themselves they go by the time of day."""

import time
from types import SimpleNamespace

from paramiko import auth_handler, buffered_pipe, channel, packet, proxy, transport

_STEADY = SimpleNamespace(**{**vars(time), "time": time.monotonic})


def use() -> None:
    """Gives paramiko's modules with time limits the monotonic clock."""
    for module in (auth_handler, buffered_pipe, channel, packet, proxy, transport):
        module.time = _STEADY
