"""Reads a frame down to its TCP header: without it the controller could not tell whose SYN it was given.

Only what the kernel itself would take for a TCP segment is one here: Ethernet II without a tag, IPv4 (RFC 791) or IPv6
(RFC 8200), not a fragment, every length within the frame. Checksums are not looked at: with offloads they are not yet
there.
"""

import socket
import struct
from dataclasses import dataclass
from ipaddress import IPv6Address

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10

_ETHERNET_BYTES = 14
_IPV4 = b"\x08\x00"
_IPV6 = b"\x86\xdd"
_IPV4_BYTES = 20
_IPV6_BYTES = 40
_TCP_BYTES = 20
_TCP = 6

_FRAGMENT_MASK = 0x3FFF
"""More Fragments and the fragment offset (RFC 791, 3.1); not Don't Fragment, nor the reserved bit."""

_IN_8_BYTES = (0, 43, 60)
"""Extension headers of IPv6 that say their length in units of 8 bytes: hop-by-hop, routing, destination options."""

_AUTHENTICATION = 51
"""The one that says it in units of 4 bytes (RFC 4302, 2.2)."""

_MOST_EXTENSIONS = 8
"""Linux takes any number; nobody sends so many, and each costs time."""

_IPV4_HEADER = struct.Struct("!BxHxxHxB2x4s4s")
_IPV6_HEADER = struct.Struct("!B3xHBx16s16s")
_TCP_HEADER = struct.Struct("!HHLLBB")


@dataclass(frozen=True, order=True)
class FlowKey:
    """What tells one TCP flow from another, in the direction in which it was seen.

    Args:
        source, destination: addresses in the form of `str(ipaddress.ip_address(...))`, as `network.description` keeps
            them; both IPv4 or both IPv6.
        source_port, destination_port: TCP ports.
    """

    source: str
    destination: str
    source_port: int
    destination_port: int

    @property
    def version(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.source else 4

    def reversed(self) -> "FlowKey":
        """The same flow as the other end sends it."""
        return FlowKey(self.destination, self.source, self.destination_port, self.source_port)


@dataclass(frozen=True)
class Segment:
    """A TCP segment, as far as a controller looks.

    Args:
        source_mac, destination_mac: `02:00:00:00:00:01`, lower case.
        flow: addresses and ports, from the sender to the receiver of this segment.
        flags: the TCP flags of the header's 14th byte, for example `SYN | ACK`.
        sequence: the TCP sequence number: the same in a SYN and in its retransmissions.
        options: the TCP options, 0 to 40 bytes.
        payload_bytes: length of what follows the TCP header.
        acknowledgement: the TCP acknowledgement number.
    """

    source_mac: str
    destination_mac: str
    flow: FlowKey
    flags: int
    sequence: int
    options: bytes
    payload_bytes: int
    acknowledgement: int

    @property
    def is_syn(self) -> bool:
        """Whether it opens a flow: SYN without ACK (nor RST or FIN, with which Linux drops it)."""
        return self.flags & (SYN | ACK | RST | FIN) == SYN

    @property
    def is_syn_ack(self) -> bool:
        """Whether it answers a SYN."""
        return self.flags & (SYN | ACK | RST | FIN) == SYN | ACK


def parse_segment(frame: bytes, wire_bytes: int | None = None) -> Segment | None:
    """The TCP segment in an Ethernet frame, or None if it carries none, or a damaged one. Raises nothing.

    Args:
        frame: from the destination MAC address on, without FCS; may be padded at its end.
        wire_bytes: length of the frame where `frame` is only its beginning (`total_len` of a packet-in); all headers
            must be in `frame` all the same.
    """
    packet_bytes = (len(frame) if wire_bytes is None else max(wire_bytes, len(frame))) - _ETHERNET_BYTES
    ethertype = frame[12:14]
    if ethertype == _IPV4:
        packet = _ipv4(frame, packet_bytes)
    elif ethertype == _IPV6:
        packet = _ipv6(frame, packet_bytes)
    else:
        return None
    return packet and _tcp(frame, *packet)


def _ipv4(frame: bytes, packet_bytes: int) -> tuple[int, int, str, str] | None:
    """Where the TCP header begins and the packet ends, both counted from the frame's beginning, and the addresses."""
    if len(frame) < _ETHERNET_BYTES + _IPV4_BYTES:
        return None
    first, total, fragment, protocol, source, destination = _IPV4_HEADER.unpack_from(frame, _ETHERNET_BYTES)
    header = (first & 0x0F) * 4
    whole = first >> 4 == 4 and _IPV4_BYTES <= header <= total <= packet_bytes
    if not whole or fragment & _FRAGMENT_MASK or protocol != _TCP:
        return None
    ends = _ETHERNET_BYTES + total
    return _ETHERNET_BYTES + header, ends, socket.inet_ntoa(source), socket.inet_ntoa(destination)


def _ipv6(frame: bytes, packet_bytes: int) -> tuple[int, int, str, str] | None:
    """As `_ipv4`."""
    if len(frame) < _ETHERNET_BYTES + _IPV6_BYTES:
        return None
    first, payload, following, source, destination = _IPV6_HEADER.unpack_from(frame, _ETHERNET_BYTES)
    if first >> 4 != 6 or payload > packet_bytes - _IPV6_BYTES:
        return None
    begins = _ETHERNET_BYTES + _IPV6_BYTES
    ends = begins + payload
    for _ in range(_MOST_EXTENSIONS):
        if following == _TCP:
            return begins, ends, _ipv6_text(source), _ipv6_text(destination)
        if begins + 2 > min(ends, len(frame)):
            return None
        if following in _IN_8_BYTES:
            length = 8 + frame[begins + 1] * 8
        elif following == _AUTHENTICATION:
            length = 8 + frame[begins + 1] * 4
        else:
            return None
        following = frame[begins]
        begins += length
    return None


def _tcp(frame: bytes, begins: int, ends: int, source: str, destination: str) -> Segment | None:
    if begins + _TCP_BYTES > min(ends, len(frame)):
        return None
    source_port, destination_port, sequence, acknowledgement, offset, flags = _TCP_HEADER.unpack_from(frame, begins)
    payload = begins + (offset >> 4) * 4
    if not begins + _TCP_BYTES <= payload <= min(ends, len(frame)):
        return None
    return Segment(
        source_mac=frame[6:12].hex(":"),
        destination_mac=frame[:6].hex(":"),
        flow=FlowKey(source, destination, source_port, destination_port),
        flags=flags,
        sequence=sequence,
        options=bytes(frame[begins + _TCP_BYTES : payload]),
        payload_bytes=ends - payload,
        acknowledgement=acknowledgement,
    )


def _ipv6_text(address: bytes) -> str:
    """As `str(IPv6Address(address))`, ten times as fast; they differ only in how embedded IPv4 addresses look."""
    text = socket.inet_ntop(socket.AF_INET6, address)
    return str(IPv6Address(address)) if "." in text else text
