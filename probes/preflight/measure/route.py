"""The route to the far end and its MTU, found without privileges by UDP packets and the ICMP errors that they cause.

Linux hands an ICMP error to the socket whose packet caused it (IP_RECVERR, ip(7)), so no raw socket is needed. A few
distances are probed at the same time to save round trips; not all, because packets that go too far reach the far end,
and machines answer only a few of those per second.
"""

import contextlib
import errno
import select
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probes.preflight.records import Hop, Route
from probes.preflight.sockets import Address

_MAX_HOPS = 30
_LIMIT_S = 5.0
_ATTEMPTS = 2
_FIRST_PORT = 33434
_AT_ONCE = 6
_GROUP_LIMIT_S = 1.0  # for the answers to one group of probes
_RETRY_S = 0.5  # a packet is sent again after this silence
_PMTUDISC_PROBE = 3
_ERROR = struct.Struct("=IBBBBII")  # struct sock_extended_err (linux/errqueue.h)
_FROM_ICMP = (2, 3)  # its origin: ICMP, ICMPv6


@dataclass(frozen=True)
class _Protocol:
    """Constants of an IP version: socket options (linux/in.h, in6.h), ICMP types and codes, sizes in bytes."""

    level: int
    hop_limit: int
    receive_errors: int
    mtu_discover: int
    mtu: int
    time_exceeded: int
    port_unreachable: int
    headers: int
    smallest_mtu: int


_PROTOCOLS = {
    4: _Protocol(socket.IPPROTO_IP, socket.IP_TTL, 11, 10, 14, 11, 3, 20 + 8, 576),
    6: _Protocol(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 25, 23, 24, 3, 4, 40 + 8, 1280),
}


@dataclass(frozen=True)
class _Error:
    """One entry of a socket's error queue; `offender` is the address that sent the ICMP error."""

    number: int
    origin: int
    kind: int
    code: int
    information: int
    offender: str


@dataclass(frozen=True)
class _Answer:
    """The answer to a probe: from whom, whether the route ends there, and whether that is the far end."""

    address: str
    last: bool
    arrived: bool
    rtt_ms: float


class _Probe:
    """A UDP packet that may pass `distance` routers, on a socket of its own."""

    def __init__(self, target: Address, distance: int, attempt: int, stack: contextlib.ExitStack) -> None:
        self.distance, self._target, self._protocol = distance, target.host, _PROTOCOLS[target.version]
        self.socket = stack.enter_context(_udp_socket(target))
        self.socket.setsockopt(self._protocol.level, self._protocol.hop_limit, distance)
        # Each probe has a port of its own: many machines limit the errors that they send for a port.
        self.socket.connect((target.host, _FIRST_PORT + attempt * _MAX_HOPS + distance))
        self._sent = time.monotonic()
        self.socket.send(bytes(32))

    def answer(self) -> _Answer | None:
        """Returns the ICMP error that has come, if any."""
        with contextlib.suppress(OSError):
            error = _next_error(self.socket)
            rtt_ms = (time.monotonic() - self._sent) * 1e3
            if error and error.origin in _FROM_ICMP:
                last = error.kind != self._protocol.time_exceeded
                reached = error.code == self._protocol.port_unreachable or error.offender == self._target
                return _Answer(error.offender, last, last and reached, rtt_ms)
        return None


def trace(target: Address) -> Route:
    """Traces the route to an address; never raises, the route's note says what went wrong."""
    answers: dict[int, _Answer] = {}
    deadline = time.monotonic() + _LIMIT_S
    try:
        for begin in range(1, _MAX_HOPS + 1, _AT_ONCE):
            distances = range(begin, begin + _AT_ONCE)
            with contextlib.ExitStack() as stack:
                probes = [
                    _Probe(target, distance, attempt, stack) for distance in distances for attempt in range(_ATTEMPTS)
                ]
                _collect(probes, distances, answers, min(deadline, time.monotonic() + _GROUP_LIMIT_S))
            if any(answer.last for answer in answers.values()) or time.monotonic() >= deadline:
                break
    except OSError as error:
        return Route("udp", (), False, f"this machine cannot trace it: {error.strerror}")
    return _route(answers)


def path_mtu(target: Address) -> int | None:
    """Returns the largest packet that reaches an address unfragmented, in bytes; None if nothing answers.

    As in RFC 1191 and RFC 8201: packets that must not be fragmented, smaller each time a router says what fits.
    """
    protocol, deadline = _PROTOCOLS[target.version], time.monotonic() + _LIMIT_S
    reported = None
    with contextlib.suppress(OSError), _udp_socket(target) as prober:
        prober.setsockopt(protocol.level, protocol.mtu_discover, _PMTUDISC_PROBE)
        prober.connect((target.host, _FIRST_PORT))
        size = prober.getsockopt(protocol.level, protocol.mtu)
        while time.monotonic() < deadline:
            fits = _try_size(prober, size, protocol.headers)
            if fits == size:
                return size
            if fits is not None and fits >= protocol.smallest_mtu:
                reported = size = fits
    return reported  # a router's word counts, even if the far end never answers


def _try_size(prober: socket.socket, size: int, headers: int) -> int | None:
    """Returns the size if such a packet arrives, a smaller one if a router says so, None without an answer."""
    try:
        prober.send(bytes(size - headers))
    except OSError as error:
        if error.errno not in (errno.EMSGSIZE, errno.ECONNREFUSED):  # of an earlier packet
            raise
    poller = select.poll()
    poller.register(prober, 0)
    while poller.poll(_RETRY_S * 1e3):
        queued = _next_error(prober)
        if queued and queued.number == errno.ECONNREFUSED:
            return size
        if queued and queued.number == errno.EMSGSIZE and headers < queued.information < size:
            return queued.information
    return None


def _udp_socket(target: Address) -> socket.socket:
    protocol = _PROTOCOLS[target.version]
    prober = socket.socket(target.family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    prober.setsockopt(protocol.level, protocol.receive_errors, 1)
    return prober


def _collect(probes: Sequence[_Probe], distances: range, answers: dict[int, _Answer], deadline: float) -> None:
    """Adds the fastest answer of each distance, until all up to the end of the route are there or time is over."""
    poller = select.poll()
    waiting = {probe.socket.fileno(): probe for probe in probes}
    for number in waiting:
        poller.register(number, 0)  # errors are always reported
    while waiting and (left := deadline - time.monotonic()) > 0:
        for number, _event in poller.poll(left * 1e3):
            probe = waiting.pop(number)
            poller.unregister(number)
            answer, earlier = probe.answer(), answers.get(probe.distance)
            if answer and (earlier is None or answer.rtt_ms < earlier.rtt_ms):
                answers[probe.distance] = answer
        end = min((distance for distance, answer in answers.items() if answer.last), default=distances[-1])
        if all(distance in answers for distance in distances if distance <= end):
            return


def _route(answers: Mapping[int, _Answer]) -> Route:
    end = min((distance for distance, answer in answers.items() if answer.last), default=None)
    hops = tuple(
        Hop(distance, answer.address, answer.rtt_ms) if (answer := answers.get(distance)) else Hop(distance, None, None)
        for distance in range(1, (end or max(answers, default=0)) + 1)
    )
    if end is None:
        return Route("udp", hops, False, "the far end itself did not answer" if answers else "nothing answered")
    note = "" if answers[end].arrived else f"{answers[end].address} does not forward such packets"
    return Route("udp", hops, answers[end].arrived, note)


def _next_error(prober: socket.socket) -> _Error | None:
    """Takes the next entry from a socket's error queue: struct sock_extended_err, then the offender's address."""
    _data, controls, _flags, _address = prober.recvmsg(512, 512, socket.MSG_ERRQUEUE)
    for _level, kind, data in controls:
        if kind in (_PROTOCOLS[4].receive_errors, _PROTOCOLS[6].receive_errors) and len(data) >= _ERROR.size:
            number, origin, icmp_type, code, _pad, information, _more = _ERROR.unpack_from(data)
            return _Error(number, origin, icmp_type, code, information, _offender(data[_ERROR.size :]))
    return None


def _offender(address: bytes) -> str:
    """Returns the address in a struct sockaddr, or "" if there is none."""
    family = int.from_bytes(address[:2], sys.byteorder)
    begin, end = {int(socket.AF_INET): (4, 8), int(socket.AF_INET6): (8, 24)}.get(family, (0, 0))
    return socket.inet_ntop(family, address[begin:end]) if end else ""
