"""Journeys of packets across links: what came to a queue is matched with what arrived at the link's other end."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flightpath.hosts import endpoint
from results.recording.file import Columns, Recording

ARRIVED, QUEUE_FULL, LOST, DROPPED, UNDER_WAY = range(5)
FATES = ("arrived", "queue full", "loss", "dropped", "under way")
"""Ends of a packet's journey across a link. `dropped`: a cut, a black hole, or active queue management."""

_NEARLY_FULL = 0.97
"""Share of a queue's bound from which a drop is put down to it: what a link loses takes room in its queue too."""

_TCP, _UDP = 6, 17
_PROTOCOLS = {1: "ICMP", _TCP: "TCP", _UDP: "UDP", 58: "ICMPv6"}
_ETHERTYPES = {0x0806: "ARP", 0x88CC: "LLDP"}


@dataclass(frozen=True)
class Direction:
    """One direction of a link; limits that are None do not exist."""

    link: str
    source: str
    target: str
    specification: str
    bandwidth_bps: float | None
    delay_ns: int
    queue_bytes: int | None
    is_lossy: bool


@dataclass(frozen=True)
class Flow:
    """Packets from one end of a connection to the other.

    Attributes:
        name: ends and protocol in words.
        reverse: number of the flow of the other direction; None if there is none.
        connection: number that all flows of one connection share.
        subflow: number of the subflow in its connection, from 0.
        is_mptcp: the connection uses MPTCP.
    """

    name: str
    protocol: str
    reverse: int | None
    connection: int
    subflow: int
    is_mptcp: bool
    window_scale: int


@dataclass(frozen=True)
class Journeys:
    """Packets on links, in the order in which they came to a link's queue.

    Attributes:
        packets: the columns of `Recording.entries`, and `bytes` with all headers, `arrived` (time in ns; -1: never),
            `sent` (time at which the last bit was on the link, in ns; -1: never), `fate` (index of FATES), and
            `arrived_ecn`.
    """

    packets: Columns
    directions: Sequence[Direction]
    flows: Sequence[Flow]


def journeys(recording: Recording) -> Journeys:
    """Matches the two observations of each packet, at both ends of each link."""
    directions = _directions(recording.description)
    entries, arrivals = recording.entries, recording.arrivals
    first = _match(entries, arrivals)
    arrived = np.where(first >= 0, arrivals["time"][first] if len(arrivals["time"]) else -1, -1)
    size = entries["payload"].astype("i8") + entries["headers"]
    sent = _sent(entries, arrived, size, directions)
    packets: dict[str, NDArray[Any]] = {**entries, "bytes": size, "arrived": arrived, "sent": sent}
    packets["arrived_ecn"] = np.where(first >= 0, arrivals["ecn"][first] if len(arrivals["ecn"]) else 0, 0).astype("u1")
    packets["fate"] = _fates(packets, directions, int(recording.description["ended_ns"]))
    return Journeys(packets, directions, _flows(recording.flows))


def _directions(description: Mapping[str, Any]) -> list[Direction]:
    return [
        Direction(
            link=link["name"],
            source=link["nodes"][number],
            target=link["nodes"][1 - number],
            specification=each["specification"],
            bandwidth_bps=each["bandwidth_bps"],
            delay_ns=each["delay_ns"],
            queue_bytes=each["queue_bytes"],
            is_lossy=each["lossy"],
        )
        for link in description["links"]
        for number, each in enumerate(link["directions"])
    ]


def _match(entries: Columns, arrivals: Columns) -> NDArray[Any]:
    """Returns for each entry the number of its first arrival; -1 if there is none.

    An arrival belongs to the packet on the same link whose fields are the same. Of several such packets, the last
    arrival takes the last packet before it, and so on backwards.
    """
    count = len(entries["time"])
    key = np.concatenate([_key(entries), _key(arrivals)])
    time = np.concatenate([entries["time"], arrivals["time"]])
    order = np.lexsort((time, key))  # stable: at one time, what enters a link stands before what leaves it
    is_entry, key = order < count, key[order]
    again = key[1:] == key[:-1]
    follows = again & is_entry[:-1] & ~is_entry[1:]
    matched = np.full(count, -1, "i8")
    matched[order[:-1][follows]] = order[1:][follows] - count
    # Two entries of one key with no arrival between them: only these need a closer look.
    for key_again in np.unique(key[1:][again & is_entry[:-1] & is_entry[1:]]):
        at = order[slice(*(np.searchsorted(key, key_again, side) for side in ("left", "right")))]
        waiting: list[int] = []
        for each in at[::-1]:
            if each >= count:
                waiting.append(int(each) - count)
            else:
                matched[each] = waiting.pop(0) if waiting else -1
    return matched


def _key(columns: Columns) -> NDArray[Any]:
    return columns["point"].astype("u8") << np.uint64(32) | columns["identity"]


def _sent(entries: Columns, arrived: NDArray[Any], size: NDArray[Any], directions: Sequence[Direction]) -> NDArray[Any]:
    """Returns when the last bit of each packet was on its link: its propagation delay before it arrived."""
    delays = np.array([each.delay_ns for each in directions], "i8")
    rates = np.array([each.bandwidth_bps or np.inf for each in directions])
    point = entries["point"]
    earliest = entries["time"] + (size * 8e9 / rates[point]).astype("i8")
    # Jitter may make the delay shorter or longer than specified.
    return np.where(arrived >= 0, np.minimum(np.maximum(arrived - delays[point], earliest), arrived), -1)


def _fates(packets: Columns, directions: Sequence[Direction], ended: int) -> NDArray[Any]:
    fate = np.where(packets["arrived"] >= 0, ARRIVED, DROPPED).astype("u1")
    for point, direction in enumerate(directions):
        at = np.flatnonzero(packets["point"] == point)
        missing = fate[at] == DROPPED
        if not missing.any():
            continue
        transit = (packets["arrived"][at] - packets["time"][at])[~missing]
        longest = int(transit.max()) if len(transit) else direction.delay_ns
        if direction.is_lossy:
            fate[at[missing]] = LOST
        if direction.queue_bytes:
            queued = queue_bytes(packets, at)[missing] + packets["bytes"][at][missing]
            fate[at[missing][queued > _NEARLY_FULL * direction.queue_bytes]] = QUEUE_FULL
        fate[at[missing & (packets["time"][at] > ended - longest)]] = UNDER_WAY
    return fate


def queue_bytes(packets: Columns, at: NDArray[Any]) -> NDArray[Any]:
    """Returns how many bytes were in the queue of a link's direction when each of its packets (`at`) came to it."""
    time, sent, size = packets["time"][at], packets["sent"][at], packets["bytes"][at]
    carried = sent >= 0
    entered = np.cumsum(np.where(carried, size, 0)) - np.where(carried, size, 0)
    order = np.argsort(sent[carried], kind="stable")
    left = np.concatenate([[0], np.cumsum(size[carried][order])])
    result: NDArray[Any] = entered - left[np.searchsorted(sent[carried][order], time, "right")]
    return result


# --- flows ---


def _flows(rows: NDArray[Any]) -> list[Flow]:
    """Returns all flows by their numbers, those of one MPTCP connection together."""
    ends = [_ends(row) for row in rows]
    reverse = _reverses(ends)
    tokens: dict[int, int] = {}  # connection by the token of either side
    connections: list[int] = [-1] * len(rows)
    subflows: dict[int, int] = {}
    flows: list[Flow | None] = [None] * len(rows)
    order = sorted(range(len(rows)), key=lambda number: rows["mptcp"][number] == 2)  # joins after what they join
    for number in order:
        if connections[number] >= 0:
            continue
        both = [number] if reverse[number] is None else sorted((number, int(reverse[number] or 0)))
        values = [(int(rows["mptcp"][each]), bytes(rows["mptcp_value"][each])) for each in both]
        connection = both[0]
        for kind, value in values:
            if kind == 1 and any(value):
                tokens[int.from_bytes(hashlib.sha256(value).digest()[:4], "big")] = both[0]
            elif kind == 2 and any(value):
                connection = tokens.get(int.from_bytes(value, "little"), both[0])
        subflow = subflows[connection] = subflows.get(connection, -1) + 1
        for each in both:
            connections[each] = connection
            other = reverse[each]
            source, target, protocol = ends[each]
            name = f"{protocol} {source} → {target}" if source else protocol
            scale = int(rows["window_scale"][each])
            flows[each] = Flow(name, protocol, other, connection, subflow, any(kind for kind, _ in values), scale)
    return [flow for flow in flows if flow is not None]


def _ends(row: Any) -> tuple[str, str, str]:
    if not row["family"]:
        return "", "", _ETHERTYPES.get(int(row["ethertype"]), f"EtherType {int(row['ethertype']):#06x}")
    protocol = int(row["protocol"])
    length = 4 if row["family"] == 4 else 16
    texts = []
    for side in ("source", "target"):
        address = str(ip_address(bytes(row[side])[:length]))
        port = int(row[f"{side}_port"])
        texts.append(endpoint(address, port) if port else address)
    return texts[0], texts[1], _PROTOCOLS.get(protocol, f"IP protocol {protocol}")


def _reverses(ends: Sequence[tuple[str, str, str]]) -> list[int | None]:
    """Returns the number of each flow's other direction: the n-th use of two ports answers the n-th."""
    numbers: dict[tuple[str, str, str], list[int]] = {}
    for number, each in enumerate(ends):
        numbers.setdefault(each, []).append(number)
    result: list[int | None] = [None] * len(ends)
    for (source, target, protocol), mine in numbers.items():
        for number, other in zip(mine, numbers.get((target, source, protocol), []), strict=False):
            result[number] = other if source != target else None
    return result
