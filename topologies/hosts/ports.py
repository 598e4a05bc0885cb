"""Ports that are open in a network namespace, as the kernel lists them in /proc."""

from pathlib import Path

_LISTENS = "0A"
"""State LISTEN in /proc/net/tcp (include/net/tcp_states.h)."""


def is_open(pid: int, port: int, *tables: str) -> bool:
    """Returns whether a TCP socket listens on a port, or a UDP socket is bound to it, on any address.

    Args:
        pid: a process in the namespace.
        port: the port.
        tables: of /proc/net: tcp, tcp6, udp, udp6.
    """
    for table in tables:
        for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            if local.endswith(f":{port:04X}") and (table.startswith("udp") or state == _LISTENS):
                return True
    return False
