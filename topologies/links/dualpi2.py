"""The queue discipline DualPI2 (RFC 9332) by rtnetlink, because tc(8) knows it only since iproute2 6.17.

Messages are those of Linux's `netlink.h`, `rtnetlink.h` and `pkt_sched.h` (include/uapi/linux).
"""

import os
import re
import socket
import struct
from collections.abc import Iterator, Mapping

from flightpath.errors import FlightpathError
from topologies.links.spec import LinkSpec

KIND = "dualpi2"

UNKNOWN_TO_TC = re.compile(r"\[Unknown qdisc, optlen=\d+\] ")
"""Text that tc(8) writes into its JSON for options of a queue discipline that it does not know."""

COUNTERS = ("packets_in_c", "packets_in_l", "ecn_mark", "step_marks")
"""Statistics that only grow; `ecn_mark` counts step marks too."""

_MESSAGE = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence number, port
_QDISC = struct.Struct("=BxxxiIII")  # tcmsg: family, interface, handle, parent, information
_ATTRIBUTE = struct.Struct("=HH")  # length and type
_NLMSG_ERROR, _RTM_NEWQDISC, _RTM_GETQDISC = 2, 36, 38
_FLAGS = 1 | 4 | 8  # a request, to be acknowledged, and answered to its sender: older kernels only tell a group
_REPLY_LIMIT_S = 5.0
_TCA_KIND, _TCA_OPTIONS, _TCA_XSTATS = 1, 2, 4
_NESTED = 0x8000
_LIMIT, _TARGET, _TUPDATE, _STEP_THRESHOLD, _COUPLING, _ECN_MASK = 1, 3, 4, 8, 10, 14
_ECN_MASKS = {"ect1": 1, "any_ect": 3}
_XSTATS = struct.Struct("=8Ii3I")
_FIELDS = (
    *("prob", "delay_c_us", "delay_l_us", "packets_in_c", "packets_in_l", "max_packets", "ecn_mark", "step_marks"),
    *("credit", "memory_used", "max_memory_used", "memory_limit"),
)
_MAX_PROBABILITY = 2**32 - 1


def configure(interface: str, parent: str, handle: str, spec: LinkSpec) -> None:
    """Sets the options of a queue, which exists already; the kernel's defaults hold for those that are None.

    Raises:
        FlightpathError: the kernel refuses them.
    """
    body = change_body(socket.if_nametoindex(interface), _number(parent), _number(handle), spec)
    _ask(_RTM_NEWQDISC, body, interface)


def read(interface: str, handle: str) -> dict[str, float]:
    """Returns the statistics of a queue, as `statistics` does.

    Raises:
        FlightpathError: there is no such queue.
    """
    body = _QDISC.pack(0, socket.if_nametoindex(interface), _number(handle), 0, 0)
    return statistics(_ask(_RTM_GETQDISC, body, interface))


def change_body(index: int, parent: int, handle: int, spec: LinkSpec) -> bytes:
    """Returns the body of the message that sets the options of a queue on the interface with an index."""
    times = {_TARGET: spec.target_s, _TUPDATE: spec.tupdate_s, _STEP_THRESHOLD: spec.step_threshold_s}
    values = {_LIMIT: spec.limit_packets, **{kind: round(s * 1e6) for kind, s in times.items() if s is not None}}
    octets = {_COUPLING: spec.coupling, _ECN_MASK: _ECN_MASKS.get(spec.l4s or "")}
    options = [_attribute(kind, struct.pack("=I", value)) for kind, value in values.items()]
    options += [_attribute(kind, struct.pack("=B", value)) for kind, value in octets.items() if value is not None]
    body = _QDISC.pack(0, index, handle, parent, 0) + _attribute(_TCA_KIND, KIND.encode() + b"\0")
    return body + _attribute(_TCA_OPTIONS | _NESTED, b"".join(options))


def statistics(reply: bytes) -> dict[str, float]:
    """Returns the statistics in the kernel's description of a queue (`struct tc_dualpi2_xstats`).

    `prob` is the probability of the controller, from 0 to 1; `delay_c_us` and `delay_l_us` are the waiting times of the
    packets at the head of both queues, 0 for an empty one.
    """
    attributes = dict(_attributes(reply[_MESSAGE.size + _QDISC.size :]))
    values: dict[str, float] = dict(zip(_FIELDS, _XSTATS.unpack_from(attributes[_TCA_XSTATS]), strict=True))
    return {**values, "prob": values["prob"] / _MAX_PROBABILITY}


def difference(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Returns later statistics, with counters from an earlier moment on."""
    return {name: value - before[name] if name in COUNTERS else value for name, value in after.items()}


def _ask(kind: int, body: bytes, interface: str) -> bytes:
    """Sends a request to the kernel and returns its answer; empty if it has none but that it is done."""
    answer = b""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.settimeout(_REPLY_LIMIT_S)
        kernel.send(_message(kind, body))
        try:
            while _kind_of(reply := kernel.recv(1 << 16)) != _NLMSG_ERROR:  # which an acknowledgement is, too
                answer = reply
        except TimeoutError as error:
            raise FlightpathError(f"queue {KIND} of {interface}: the kernel does not answer") from error
    if code := struct.unpack_from("=i", reply, _MESSAGE.size)[0]:
        raise FlightpathError(f"queue {KIND} of {interface}: {os.strerror(-code)}")
    return answer


def _kind_of(message: bytes) -> int:
    return int(_MESSAGE.unpack_from(message)[1])


def _message(kind: int, body: bytes) -> bytes:
    return _MESSAGE.pack(_MESSAGE.size + len(body), kind, _FLAGS, 1, 0) + body


def _attribute(kind: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        yield kind & ~_NESTED, data[_ATTRIBUTE.size : length]
        data = data[length + -length % 4 :]


def _number(handle: str) -> int:
    """Returns the number of a handle as tc(8) writes it: `1:1`, `10:`."""
    major, _, minor = handle.partition(":")
    return int(major, 16) << 16 | int(minor or "0", 16)
