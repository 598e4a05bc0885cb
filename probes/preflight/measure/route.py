"""The routers on the way, found as any user: UDP packets that may go only so far, and the errors that come back.

Linux hands the ICMP answer to the very socket whose packet it is about (IP_RECVERR, ip(7)), so no raw socket is needed.
A few distances are tried at the same time, so a route takes about as long as its slowest answers; not all, because
what goes too far reaches the far end, and machines answer only a few such packets a second.
"""

import contextlib
import errno
import ipaddress
import select
import socket
import struct
import time
from dataclasses import dataclass

from probes.preflight.records import Hop, Route
from probes.preflight.ssh.sockets import Address

MOST_HOPS = 30
LIMIT_S = 5.0
_ATTEMPTS = 2
_FIRST_PORT = 33434
_AT_ONCE = 6
_PATIENCE_S = 1.0  # with the routers of one such group
_QUIET_S = 0.5  # after this silence a packet is sent again

_IP_RECVERR, _IPV6_RECVERR = 11, 25
_IP_MTU_DISCOVER, _IPV6_MTU_DISCOVER, _PMTUDISC_PROBE = 10, 23, 3
_IP_MTU, _IPV6_MTU = 14, 24
_ERROR = struct.Struct("=IBBBBII")  # struct sock_extended_err
_FROM_ICMP, _FROM_ICMP6 = 2, 3
_TIME_EXCEEDED = {4: 11, 6: 3}
_PORT_UNREACHABLE = {4: 3, 6: 4}  # the code, with "destination unreachable"
_HEADERS = {4: 28, 6: 48}  # IP and UDP
_SMALLEST_MTU = {4: 576, 6: 1280}


@dataclass(frozen=True)
class _Answer:
    """What came back for one packet: who says so, whether the way ends there, and whether that is the far end."""

    address: str
    last: bool
    arrived: bool
    rtt_ms: float


class _Probe:
    """A UDP socket whose one packet may pass `distance` routers."""

    def __init__(self, target: Address, distance: int, attempt: int) -> None:
        self.distance = distance
        self._version, self._target = target.version, target.host
        self.socket = _udp(target)
        try:
            level, option = (
                (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS)
                if target.version == 6
                else (socket.IPPROTO_IP, socket.IP_TTL)
            )
            self.socket.setsockopt(level, option, distance)
            # A port of its own for each: many machines answer only one error per port and moment.
            self.socket.connect((target.host, _FIRST_PORT + attempt * MOST_HOPS + distance))
            self._sent = time.monotonic()
            self.socket.send(bytes(32))
        except BaseException:
            self.socket.close()
            raise

    def answer(self) -> _Answer | None:
        """The error that has come, if it is one of the way's."""
        with contextlib.suppress(OSError):
            found = _error(self.socket)
            rtt_ms = (time.monotonic() - self._sent) * 1e3
            if found and found.origin in (_FROM_ICMP, _FROM_ICMP6):
                last = found.kind != _TIME_EXCEEDED[self._version]
                arrived = last and (found.code == _PORT_UNREACHABLE[self._version] or found.offender == self._target)
                return _Answer(found.offender, last, arrived, rtt_ms)
        return None


@dataclass(frozen=True)
class _Error:
    """One entry of a socket's error queue."""

    number: int
    origin: int
    kind: int
    code: int
    information: int
    offender: str


def trace(target: Address, limit_s: float = LIMIT_S) -> Route:
    """The way to an address; never raises: what could not be found is said in the route's note."""
    answers: dict[int, _Answer] = {}
    deadline = time.monotonic() + limit_s
    try:
        for begin in range(1, MOST_HOPS + 1, _AT_ONCE):
            _try(target, range(begin, begin + _AT_ONCE), answers, min(deadline, time.monotonic() + _PATIENCE_S))
            if any(each.last for each in answers.values()) or time.monotonic() >= deadline:
                break
    except OSError as error:
        return Route("udp", (), False, f"this machine cannot trace it: {error.strerror}")
    return _route(answers)


def _try(target: Address, distances: range, answers: dict[int, _Answer], deadline: float) -> None:
    probes: list[_Probe] = []
    try:
        for distance in distances:
            for attempt in range(_ATTEMPTS):
                probes.append(_Probe(target, distance, attempt))
        _collect(probes, distances, answers, deadline)
    finally:
        for probe in probes:
            probe.socket.close()


def path_mtu(target: Address, limit_s: float = LIMIT_S) -> int | None:
    """The largest packet that reaches an address in one piece, in bytes; None if nobody answers.

    As RFC 1191 and RFC 8201: packets that must not be cut, smaller each time a router says what fits.
    """
    level, mtu_option = (socket.IPPROTO_IPV6, _IPV6_MTU) if target.version == 6 else (socket.IPPROTO_IP, _IP_MTU)
    discover = _IPV6_MTU_DISCOVER if target.version == 6 else _IP_MTU_DISCOVER
    deadline = time.monotonic() + limit_s
    told = None
    with contextlib.suppress(OSError), _udp(target) as made:
        made.setsockopt(level, discover, _PMTUDISC_PROBE)
        made.connect((target.host, _FIRST_PORT))
        size = made.getsockopt(level, mtu_option)
        while time.monotonic() < deadline:
            found = _try_size(made, size, _HEADERS[target.version])
            if found == size:
                return size
            if found is not None and found >= _SMALLEST_MTU[target.version]:
                told = size = found
    return told  # who says what fits is believed, even if the far end then keeps silent


def _try_size(made: socket.socket, size: int, headers: int) -> int | None:
    """The size itself if such a packet arrives, a smaller one if a router says so, None if nobody says anything."""
    try:
        made.send(bytes(size - headers))
    except OSError as error:
        if error.errno not in (errno.EMSGSIZE, errno.ECONNREFUSED):  # of a packet before this one
            raise
    poller = select.poll()
    poller.register(made, 0)
    while poller.poll(_QUIET_S * 1e3):
        found = _error(made)
        if found and found.number == errno.ECONNREFUSED:
            return size
        if found and found.number == errno.EMSGSIZE and headers < found.information < size:
            return found.information
    return None


def _udp(target: Address) -> socket.socket:
    made = socket.socket(target.family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    v6 = target.version == 6
    made.setsockopt(socket.IPPROTO_IPV6 if v6 else socket.IPPROTO_IP, _IPV6_RECVERR if v6 else _IP_RECVERR, 1)
    return made


def _collect(probes: list[_Probe], distances: range, answers: dict[int, _Answer], deadline: float) -> None:
    """Gathers answers until those of all distances up to the end of the way are there, or time is over."""
    poller = select.poll()
    waiting = {probe.socket.fileno(): probe for probe in probes}
    for number in waiting:
        poller.register(number, 0)  # an error is always told
    while waiting and (left := deadline - time.monotonic()) > 0:
        for number, _event in poller.poll(left * 1e3):
            probe = waiting.pop(number)
            poller.unregister(number)
            found = probe.answer()
            known = answers.get(probe.distance)
            if found and (known is None or found.rtt_ms < known.rtt_ms):
                answers[probe.distance] = found
        end = min((distance for distance, each in answers.items() if each.last), default=distances[-1])
        if all(distance in answers for distance in distances if distance <= end):
            return


def _route(answers: dict[int, _Answer]) -> Route:
    ends = min((distance for distance, each in answers.items() if each.last), default=None)
    hops = tuple(
        Hop(distance, found.address, found.rtt_ms) if (found := answers.get(distance)) else Hop(distance, None, None)
        for distance in range(1, (ends or max(answers, default=0)) + 1)
    )
    if ends is None:
        return Route("udp", hops, False, "the far end itself did not answer" if answers else "nobody answered")
    if not answers[ends].arrived:
        return Route("udp", hops, False, f"{answers[ends].address} lets such packets go no further")
    return Route("udp", hops, True)


def _error(made: socket.socket) -> _Error | None:
    """Takes the next entry from a socket's error queue (struct sock_extended_err, then the offender's address)."""
    _data, controls, _flags, _address = made.recvmsg(512, 512, socket.MSG_ERRQUEUE)
    for _level, kind, data in controls:
        if kind in (_IP_RECVERR, _IPV6_RECVERR) and len(data) >= _ERROR.size:
            number, origin, icmp_type, code, _pad, information, _more = _ERROR.unpack_from(data)
            return _Error(number, origin, icmp_type, code, information, _offender(data[_ERROR.size :]))
    return None


def _offender(raw: bytes) -> str:
    if len(raw) < 2:
        return ""
    (family,) = struct.unpack_from("=H", raw)
    if family == socket.AF_INET and len(raw) >= 8:
        return str(ipaddress.IPv4Address(raw[4:8]))
    if family == socket.AF_INET6 and len(raw) >= 24:
        return str(ipaddress.IPv6Address(raw[8:24]))
    return ""
