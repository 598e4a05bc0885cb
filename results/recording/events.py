"""Events of a recording to which its page jumps, and relative sequence numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from results.recording.journeys import ARRIVED, UNDER_WAY, Journeys
from results.recording.senders import CONGESTION_STATES

KINDS = ("connection", "join", "loss", "retransmission", "timeout", "link change")
"""Kinds of events; a timeout is a sender whose congestion control enters the state Loss."""

LINK_CHANGE = KINDS.index("link change")

_TIMEOUT = KINDS.index("timeout")
_SYN, _ACK = 0x02, 0x10
_STATE_LOSS = CONGESTION_STATES.index("loss")

EVENT = np.dtype([("time_ns", "i8"), ("kind", "u1"), ("packet", "i4"), ("flow", "u2")])


def first_sequence_numbers(packets: Any, flows: int) -> NDArray[Any]:
    first = np.zeros(flows, "u4")
    numbers, at = np.unique(packets["flow"], return_index=True)
    known = numbers < flows
    first[numbers[known]] = packets["seq"][at[known]]
    return first


def retransmissions(found: Journeys, from_host: NDArray[Any]) -> NDArray[Any]:
    """Returns which packets carry data that their host has sent before.

    Args:
        from_host: which packets come to the queue of their sender's own link; only these are judged.
    """
    packets = found.packets
    again = np.zeros(len(packets["time"]), bool)
    carries = np.flatnonzero(from_host & (packets["payload"] > 0) & is_tcp(found))
    by_flow = carries[np.argsort(packets["flow"][carries], kind="stable")]
    for at in np.split(by_flow, np.flatnonzero(np.diff(packets["flow"][by_flow])) + 1):
        start = packets["seq"][at].astype("i8")
        end = start + packets["payload"][at]
        # Sequence numbers wrap around at 2^32.
        wraps = np.concatenate([[0], np.cumsum(np.diff(start) < -(1 << 31)) - np.cumsum(np.diff(start) > 1 << 31)])
        end += wraps << 32
        highest = np.concatenate([[0], np.maximum.accumulate(end)[:-1]])
        again[at] = end <= highest
    return again


def is_tcp(found: Journeys) -> NDArray[Any]:
    """Returns which packets are TCP segments."""
    of_flow = np.array([flow.protocol == "TCP" for flow in found.flows] + [False], bool)
    result: NDArray[Any] = of_flow[np.minimum(found.packets["flow"], len(found.flows))]
    return result


def events(found: Journeys, sockets: NDArray[Any], from_host: NDArray[Any], again: NDArray[Any]) -> NDArray[Any]:
    """Returns the events (EVENT) in the order of time."""
    packets, parts = found.packets, []
    opening = from_host & is_tcp(found) & (packets["flags"] & (_SYN | _ACK) == _SYN)
    subflow = np.array([flow.subflow for flow in found.flows] + [0])[np.minimum(packets["flow"], len(found.flows))]
    lost = (packets["fate"] != ARRIVED) & (packets["fate"] != UNDER_WAY)
    for kind, which in enumerate((opening & (subflow == 0), opening & (subflow > 0), lost, again)):
        at = np.flatnonzero(which)
        rows = np.zeros(len(at), EVENT)
        rows["time_ns"], rows["kind"], rows["packet"], rows["flow"] = packets["time"][at], kind, at, packets["flow"][at]
        parts.append(rows)
    states = sockets[np.argsort(sockets["flow"], kind="stable")]
    in_loss, same_flow = states["congestion_state"] == _STATE_LOSS, np.diff(states["flow"]) == 0
    entered = states[1:][same_flow & in_loss[1:] & ~in_loss[:-1]]
    rows = np.zeros(len(entered), EVENT)
    rows["time_ns"], rows["kind"], rows["packet"], rows["flow"] = entered["time_ns"], _TIMEOUT, -1, entered["flow"]
    parts.append(rows)
    joined = np.concatenate(parts)
    return joined[np.argsort(joined["time_ns"], kind="stable")]
