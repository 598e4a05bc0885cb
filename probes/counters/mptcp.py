"""The kernel's MPTCP counters, and what they prove: MPTCP may silently fall back to TCP."""

from collections.abc import Mapping

from flightpath.errors import MeasurementFailed
from flightpath.hosts import CommandHost
from flightpath.tcp_info import counters
from probes.counters.tcp import increases

_SYN_SENT = "MPCapableSYNTX"
_JOINED_AS_CLIENT = "MPJoinSynAckRx"
# Counters of fallbacks to TCP, besides those with this word in their names; as in the kernel's net/mptcp/mib.c.
_FALLBACKS = ("MPCapableSYNTXDrop", "InfiniteMapTx", "InfiniteMapRx", "MPFailTx", "MPFailRx")


def read_counters(host: CommandHost) -> Mapping[str, int]:
    """Returns the MPTCP counters of a host: `MPTcpExt` in its /proc/net/netstat."""
    if of_mptcp := counters(host.run(["cat", "/proc/net/netstat"]), "MPTcpExt"):
        return of_mptcp
    hint = "it needs CONFIG_MPTCP; `flightpath doctor` checks this"
    raise MeasurementFailed(f"{host.name}: the kernel has no MPTCP counters", hint)


def require_mptcp(
    client: str,
    before: Mapping[str, int],
    after: Mapping[str, int],
    *,
    joined: bool = True,
    may_fall_back: bool = False,
) -> Mapping[str, int]:
    """Checks that a host opened MPTCP connections, that subflows joined them, and that none fell back to TCP.

    Args:
        client: the name of the host that connects.
        before, after: its counters.
        joined: whether further subflows are required; False where there is one path.
        may_fall_back: connections may fall back, as they do when a path is cut: the kernel's last SYN is plain TCP.

    Returns:
        The numbers of `connections`, of `joins`, and of `fallbacks` if there are any.
    """
    changes = increases(before, after)
    fallbacks = {name: count for name, count in changes.items() if "Fallback" in name or name in _FALLBACKS}
    if not changes.get(_SYN_SENT):
        raise MeasurementFailed(f"{client} opened no MPTCP connection", "is the client run with mptcpize?")
    if joined and not changes.get(_JOINED_AS_CLIENT):
        raise MeasurementFailed(f"no subflow joined a connection of {client}: MPTCP used one path only")
    if fallbacks and not may_fall_back:
        named = ", ".join(f"{name}={count}" for name, count in sorted(fallbacks.items()))
        raise MeasurementFailed(f"connections of {client} fell back to TCP: {named}")
    handshakes = {"connections": changes[_SYN_SENT], "joins": changes.get(_JOINED_AS_CLIENT, 0)}
    return {**handshakes, "fallbacks": sum(fallbacks.values())} if fallbacks else handshakes


def require_no_mptcp(client: str, before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """Raises MeasurementFailed if a host opened MPTCP connections in a measurement of plain TCP."""
    if count := increases(before, after).get(_SYN_SENT):
        raise MeasurementFailed(f"{client} opened {count} MPTCP connections in a measurement of plain TCP")
