"""Commands of ip(8) for pairs of virtual Ethernet interfaces."""

from collections.abc import Iterator

from topologies.links.emulated_link import LinkEnd


def veth_pair(a: LinkEnd, b: LinkEnd, mtu_bytes: int) -> str:
    """A line for `ip -batch` that makes two joined interfaces, each where its node is."""
    first, second = (" ".join(_words(end, mtu_bytes)) for end in (a, b))
    return f"link add {first} type veth peer name {second}"


def _words(end: LinkEnd, mtu_bytes: int) -> Iterator[str]:
    yield f"{end.name} mtu {mtu_bytes}"
    if end.mac:
        yield f"address {end.mac}"
    if end.namespace_pid is not None:
        yield f"netns {end.namespace_pid}"
