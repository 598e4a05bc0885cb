"""Parses frames down to the TCP header.

Only what the kernel itself would accept as a TCP segment counts as one: Ethernet II without a tag, IPv4 (RFC 791) or
IPv6 (RFC 8200), not a fragment, and all lengths within the frame. Checksums are not verified, because with offloading
they are not there yet.
"""

import socket
import struct
from dataclasses import dataclass
from ipaddress import IPv6Address

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
IP_TCP = 6

_ETHERNET_BYTES = 14
_IPV4 = b"\x08\x00"
_IPV6 = b"\x86\xdd"
_IPV4_BYTES = 20
_IPV6_BYTES = 40
_TCP_BYTES = 20

_FRAGMENT_MASK = 0x3FFF
"""More Fragments and the fragment offset (RFC 791, 3.1), without Don't Fragment and the reserved bit."""

_EXTENSION_UNITS = {0: 8, 43: 8, 60: 8, 51: 4}
"""Extension headers of IPv6, with the unit of their length in bytes: hop-by-hop, routing, destination options; and the
authentication header (RFC 4302, 2.2)."""

_MAX_EXTENSIONS = 8
"""Linux accepts any number, but nobody sends that many, and each one costs time."""

_IPV4_HEADER = struct.Struct("!BxHxxHxB2x4s4s")
_IPV6_HEADER = struct.Struct("!B3xHBx16s16s")
_TCP_HEADER = struct.Struct("!HHLLBB")


@dataclass(frozen=True, order=True)
class FlowKey:
    """The addresses and ports of a TCP flow, in the direction of the segment.

    Args:
        source, destination: addresses in the form of `str(ipaddress.ip_address(...))`, as `network.description` has
            them; both IPv4 or both IPv6.
    """

    source: str
    destination: str
    source_port: int
    destination_port: int

    @property
    def version(self) -> int:
        return 6 if ":" in self.source else 4

    def reversed(self) -> "FlowKey":
        return FlowKey(self.destination, self.source, self.destination_port, self.source_port)


@dataclass(frozen=True)
class Segment:
    """A TCP segment, as far as a controller needs it.

    Args:
        source_mac, destination_mac: `02:00:00:00:00:01`, lower case.
        flags: of the header's 14th byte, for example `SYN | ACK`.
        options: 0 to 40 bytes.
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
        """Whether it opens a flow: SYN without ACK (and without RST or FIN, with which Linux drops it)."""
        return self.flags & (SYN | ACK | RST | FIN) == SYN

    @property
    def is_syn_ack(self) -> bool:
        return self.flags & (SYN | ACK | RST | FIN) == SYN | ACK


def parse_segment(frame: bytes, wire_bytes: int | None = None) -> Segment | None:
    """Returns the TCP segment in an Ethernet frame; None if there is none, or a damaged one. Never raises an exception.

    Args:
        frame: from the destination MAC address on, without FCS; may be padded at its end.
        wire_bytes: length of the frame if `frame` is only its beginning (`total_len` of a packet-in); all headers must
            be in `frame` even so.
    """
    packet = find_tcp(frame, len(frame) if wire_bytes is None else max(wire_bytes, len(frame)))
    if packet is None:
        return None
    begin, end, source, destination = packet
    if begin + _TCP_BYTES > min(end, len(frame)):
        return None
    source_port, destination_port, sequence, acknowledgement, offset, flags = _TCP_HEADER.unpack_from(frame, begin)
    payload = begin + (offset >> 4) * 4
    if not begin + _TCP_BYTES <= payload <= min(end, len(frame)):
        return None
    return Segment(
        source_mac=frame[6:12].hex(":"),
        destination_mac=frame[:6].hex(":"),
        flow=FlowKey(address_text(source), address_text(destination), source_port, destination_port),
        flags=flags,
        sequence=sequence,
        options=bytes(frame[begin + _TCP_BYTES : payload]),
        payload_bytes=end - payload,
        acknowledgement=acknowledgement,
    )


def find_tcp(frame: bytes, frame_bytes: int) -> tuple[int, int, bytes, bytes] | None:
    """Finds TCP in a frame: where its header begins, where the packet ends, and the IP addresses; None without TCP."""
    if frame[12:14] == _IPV4:
        return _find_in_ipv4(frame, frame_bytes - _ETHERNET_BYTES)
    if frame[12:14] == _IPV6:
        return _find_in_ipv6(frame, frame_bytes - _ETHERNET_BYTES)
    return None


def _find_in_ipv4(frame: bytes, packet_bytes: int) -> tuple[int, int, bytes, bytes] | None:
    if len(frame) < _ETHERNET_BYTES + _IPV4_BYTES:
        return None
    first, total, fragment, protocol, source, destination = _IPV4_HEADER.unpack_from(frame, _ETHERNET_BYTES)
    header = (first & 0x0F) * 4
    is_whole = first >> 4 == 4 and _IPV4_BYTES <= header <= total <= packet_bytes
    if not is_whole or fragment & _FRAGMENT_MASK or protocol != IP_TCP:
        return None
    return _ETHERNET_BYTES + header, _ETHERNET_BYTES + total, source, destination


def _find_in_ipv6(frame: bytes, packet_bytes: int) -> tuple[int, int, bytes, bytes] | None:
    if len(frame) < _ETHERNET_BYTES + _IPV6_BYTES:
        return None
    first, payload, following, source, destination = _IPV6_HEADER.unpack_from(frame, _ETHERNET_BYTES)
    if first >> 4 != 6 or payload > packet_bytes - _IPV6_BYTES:
        return None
    begin = _ETHERNET_BYTES + _IPV6_BYTES
    end = begin + payload
    for _ in range(_MAX_EXTENSIONS):
        if following == IP_TCP and begin <= end:
            return begin, end, source, destination
        if following not in _EXTENSION_UNITS or begin + 2 > min(end, len(frame)):
            return None
        length = 8 + frame[begin + 1] * _EXTENSION_UNITS[following]
        following = frame[begin]
        begin += length
    return None


def address_text(address: bytes) -> str:
    """Returns `str(ip_address(address))`, ten times as fast unless an IPv4 address is embedded in IPv6."""
    if len(address) == 4:
        return socket.inet_ntoa(address)
    text = socket.inet_ntop(socket.AF_INET6, address)
    return str(IPv6Address(address)) if "." in text else text
