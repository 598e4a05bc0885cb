"""Addresses of hosts and interfaces in the networks of `topologies/`: a subnet per plane, and readable MACs."""

from collections.abc import Sequence

from topologies.hosts.multihomed import Endpoint


def plane_addresses(plane: int, number: int) -> tuple[str, str]:
    """Returns a host's IPv4 and IPv6 address, with prefix lengths, in a plane's subnet; both numbers count from 1."""
    return f"10.0.{plane}.{number}/24", f"fd00:{plane}::{number:x}/64"


def announced(planes: int, number: int, family: int = 4, flags: Sequence[str] = ("signal",)) -> tuple[Endpoint, ...]:
    """Returns endpoints for all of a host's addresses of one family; the kernel announces those not in use yet."""
    texts = (plane_addresses(plane + 1, number)[0 if family == 4 else 1] for plane in range(planes))
    return tuple(Endpoint(text.partition("/")[0], tuple(flags)) for text in texts)


def mac(kind: int, plane: int, number: int) -> str:
    """Returns a locally administered MAC address from which its owner can be read."""
    return f"02:00:00:{kind:02x}:{plane:02x}:{number:02x}"
