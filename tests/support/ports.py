"""Free TCP ports of loopback."""

import contextlib
import random
import socket
from pathlib import Path

ADDRESS = "127.0.0.1"


def free_port() -> int:
    """A free port that the kernel gives to nobody who asks for any: another test may ask, before this one uses it."""
    lowest_of_those = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(5000, lowest_of_those)
        with contextlib.suppress(OSError), socket.create_server((ADDRESS, port)):
            return port
