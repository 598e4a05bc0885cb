"""Proof that a connection was what it is called: MPTCP falls back to TCP in silence."""

from collections.abc import Mapping

from flightpath.errors import MeasurementFailed
from flightpath.hosts import CommandHost

_PREFIX = "MPTcpExt"
_SYN_SENT = "MPCapableSYNTX"
_JOINED_AS_CLIENT = "MPJoinSynAckRx"


def read_counters(host: CommandHost) -> Mapping[str, int]:
    """The kernel's MPTCP counters of a host (`MPTcpExt` in /proc/net/netstat), without the prefix."""
    lines = host.run(["cat", "/proc/net/netstat"]).splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        if names.startswith(f"{_PREFIX}:"):
            return dict(zip(names.split()[1:], map(int, values.split()[1:]), strict=True))
    raise MeasurementFailed(f"{host.name}: the kernel has no MPTCP counters", "it needs CONFIG_MPTCP (`doctor` tells)")


def require_mptcp(
    client: str, before: Mapping[str, int], after: Mapping[str, int], *, joined: bool = True
) -> Mapping[str, int]:
    """What the counters of a connecting host prove: MPTCP connections, joined by further subflows, without a fallback.

    Args:
        client: the host's name.
        before, after: its counters.
        joined: whether there must have been further subflows; not where there is one path.

    Returns:
        `connections`, `joins`, and every counter of a fallback that moved (none).

    Raises:
        MeasurementFailed: no MPTCP connection, no join, or a fallback.
    """
    moved = _moved(before, after)
    fallbacks = {name: count for name, count in moved.items() if _is_fallback(name)}
    if not moved.get(_SYN_SENT):
        raise MeasurementFailed(f"{client} opened no MPTCP connection", "is the client run with mptcpize?")
    if joined and not moved.get(_JOINED_AS_CLIENT):
        raise MeasurementFailed(f"no subflow joined a connection of {client}: it was MPTCP on one path")
    if fallbacks:
        named = ", ".join(f"{name}={count}" for name, count in sorted(fallbacks.items()))
        raise MeasurementFailed(f"connections of {client} fell back to TCP: {named}")
    return {"connections": moved[_SYN_SENT], "joins": moved.get(_JOINED_AS_CLIENT, 0)}


def require_no_mptcp(client: str, before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """Raises MeasurementFailed if a host opened an MPTCP connection where plain TCP is measured."""
    if count := _moved(before, after).get(_SYN_SENT):
        raise MeasurementFailed(f"{client} opened {count} MPTCP connections in a measurement of plain TCP")


def _moved(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}


def _is_fallback(name: str) -> bool:
    """Counters of a connection that is TCP now, or was about to be: their names are the kernel's (net/mptcp/mib.c)."""
    return "Fallback" in name or name in (
        "MPCapableSYNTXDrop",
        "InfiniteMapTx",
        "InfiniteMapRx",
        "MPFailTx",
        "MPFailRx",
    )
