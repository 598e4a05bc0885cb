"""Packet sockets that send and receive test frames at one interface, in any namespace.

The frames are TCP over IPv4, so that the kernel segments and forwards them like those of a connection. Nobody answers:
they go from a documentation address (RFC 5737) to the multicast group for experiments (224.0.0.254, RFC 4727), which
hosts do not join, and which the controller's rules drop at the first switch.
"""

import ctypes
import errno
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from mininet.link import Intf

from topologies.sandbox.kernel_settings import inside

HEADERS_BYTES = 54
"""Size of a frame's Ethernet, IPv4 and TCP headers."""

MAX_FRAME_BYTES = 14 + 65535

_SOURCE, _TARGET = socket.inet_aton("192.0.2.1"), socket.inet_aton("224.0.0.254")
_TARGET_MAC = bytes.fromhex("01005e0000fe")
_DISCARD_PORT = 9
_ETHERNET = struct.Struct("!6s6sH")
_IPV4 = struct.Struct("!BBHHHBBH4s4s")
_TCP = struct.Struct("!HHIIHHHH")
_VNET = struct.Struct("=BBHHHH")
_VNET_NEEDS_CSUM, _VNET_GSO_TCPV4 = 1, 1
_IPV4_AT, _TCP_AT = 14, 34

# From Linux's headers, where Python's socket module names none of them; the same on every 64-bit architecture.
_SOL_PACKET, _PACKET_VNET_HDR = 263, 15
_SO_ATTACH_FILTER, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 26, 33, 35
_ETH_P_ALL, _ETH_P_IP = 3, 0x0800
_RECEIVE_BUFFER_BYTES = 32 << 20
_TIMESPEC = struct.Struct("=qq")
# Classic BPF: passes the headers of IPv4 packets to our group, except outgoing ones.
_FILTER = b"".join(
    struct.pack("=HBBI", *instruction)
    for instruction in (
        (0x28, 0, 0, 12),  # ldh [12], the EtherType
        (0x15, 0, 5, _ETH_P_IP),
        (0x20, 0, 0, 30),  # ld [30], the IPv4 destination
        (0x15, 0, 3, int.from_bytes(_TARGET)),
        (0x28, 0, 0, 0xFFFFF004),  # ldh of the packet's type
        (0x15, 1, 0, 4),  # PACKET_OUTGOING
        (0x06, 0, 0, HEADERS_BYTES),
        (0x06, 0, 0, 0),
    )
)


@dataclass(frozen=True)
class ReceivedFrame:
    """A test frame that arrived.

    Attributes:
        position: offset of its payload in the train, in bytes.
        arrived_ns: arrival time at the interface, on CLOCK_REALTIME.
    """

    train: int
    position: int
    payload_bytes: int
    arrived_ns: int


class FrameSocket:
    """Sends and receives test frames at one interface (packet(7)), as a context manager.

    A socket stays in the namespace in which it was made, so one process can time both ends of a link with one clock.
    """

    def __init__(self, interface: Intf) -> None:
        with inside(interface.node):
            self._sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._sender.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
            self._sender.bind((interface.name, 0))
            self._receiver = _open_receiver(interface.name)
        self._address = self._sender.getsockname()[4]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sender.close()
        self._receiver.close()

    def fileno(self) -> int:
        """Returns the file descriptor, which is readable when a frame has arrived."""
        return self._receiver.fileno()

    def frame(self, payload_bytes: int, segment_bytes: int = 0) -> bytearray:
        """Makes a frame for `send`; with `segment_bytes`, a GSO packet of segments with this payload size."""
        vnet = (0, 0, 0, 0, 0, 0)
        if segment_bytes:
            vnet = (_VNET_NEEDS_CSUM, _VNET_GSO_TCPV4, HEADERS_BYTES, segment_bytes, _TCP_AT, 16)
        header = _IPV4.pack(0x45, 0, 40 + payload_bytes, 0, 0, 1, socket.IPPROTO_TCP, 0, _SOURCE, _TARGET)
        header = header[:10] + (0xFFFF - _ones_complement_sum(header)).to_bytes(2) + header[12:]
        tcp = _TCP.pack(_DISCARD_PORT, _DISCARD_PORT, 0, 0, 0x5010, 0, 0, 0)
        ethernet = _ETHERNET.pack(_TARGET_MAC, self._address, _ETH_P_IP)
        return bytearray(_VNET.pack(*vnet) + ethernet + header + tcp + bytes(payload_bytes))

    def send(self, frame: bytearray, train: int, position: int) -> bool:
        """Sends a frame made by `frame`; returns False if the interface has no room."""
        # The kernel updates sequence numbers when it segments the frame, so positions stay right.
        struct.pack_into("!II", frame, _VNET.size + _TCP_AT + 4, position & 0xFFFFFFFF, train)
        try:
            self._sender.send(frame)
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return False
            raise
        return True

    def received(self) -> Iterator[ReceivedFrame]:
        """Yields the frames that have arrived since the last call, in order; ignores those with a damaged IP header."""
        while True:
            try:
                data, ancillary, _flags, _address = self._receiver.recvmsg(HEADERS_BYTES, 64)
            except BlockingIOError:
                return
            if len(data) == HEADERS_BYTES and ancillary and _ones_complement_sum(data[_IPV4_AT:_TCP_AT]) == 0:
                (length,) = struct.unpack_from("!H", data, _IPV4_AT + 2)
                position, train = struct.unpack_from("!II", data, _TCP_AT + 4)
                seconds, nanoseconds = _TIMESPEC.unpack_from(ancillary[0][2])
                yield ReceivedFrame(train, position, length - 40, seconds * 10**9 + nanoseconds)


def _open_receiver(interface: str) -> socket.socket:
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    program = ctypes.create_string_buffer(_FILTER)
    described = struct.pack("@HP", len(_FILTER) // 8, ctypes.addressof(program))
    receiver.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, described)
    try:
        receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER_BYTES)
    except PermissionError:  # older kernels reserve it for root of the machine
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
    # All protocols: a socket for one protocol sees nothing if a switch in the kernel takes the frames first.
    receiver.bind((interface, _ETH_P_ALL))
    return receiver


def _ones_complement_sum(header: bytes) -> int:
    """Returns the sum of RFC 1071, which is 0 for a header with a valid checksum: 2^16 is 1 modulo 0xFFFF."""
    return int.from_bytes(header) % 0xFFFF
