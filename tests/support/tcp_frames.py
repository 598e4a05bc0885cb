"""Frames with TCP in them, right or wrong as a test wants them, and the variations that fuzzing makes of frames."""

import random
import struct
from ipaddress import ip_address

from controllers.packets.segments import SYN

SOURCE_MAC, DESTINATION_MAC = bytes.fromhex("020000000101"), bytes.fromhex("020000000201")


def tcp(options: bytes = b"", payload: bytes = b"", *, flags: int = SYN, ports=(1000, 80), sequence=1, ack=0) -> bytes:
    """A TCP header, its options (a multiple of 4 bytes) and a payload."""
    offset = (5 + len(options) // 4) << 4
    return struct.pack("!HHLLBBHHH", *ports, sequence, ack, offset, flags, 1000, 0, 0) + options + payload


def ipv4(content: bytes, *, options: bytes = b"", fragment: int = 0x4000, protocol: int = 6, more: int = 0) -> bytes:
    """An IPv4 frame from 10.0.0.1 to 10.0.0.2; `more` is added to its total length."""
    header = 20 + len(options)
    fields = (0x40 + header // 4, 0, header + len(content) + more, 7, fragment, 64, protocol, 0)
    addresses = ip_address("10.0.0.1").packed + ip_address("10.0.0.2").packed
    packet = struct.pack("!BBHHHBBH", *fields) + addresses + options + content
    return DESTINATION_MAC + SOURCE_MAC + b"\x08\x00" + packet


def ipv6(content: bytes, *, following: int = 6, more: int = 0) -> bytes:
    """An IPv6 frame from fd00::1 to fd00::2; `more` is added to its payload length."""
    addresses = ip_address("fd00::1").packed + ip_address("fd00::2").packed
    packet = struct.pack("!LHBB", 6 << 28, len(content) + more, following, 64) + addresses + content
    return DESTINATION_MAC + SOURCE_MAC + b"\x86\xdd" + packet


def varied(content: bytes, chance: random.Random) -> bytes:
    """Some bytes replaced, put in or taken out, and often the end cut off."""
    varied = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(varied) + 1)
        match chance.randrange(4):
            case 0:
                varied[at : at + 1] = chance.randbytes(1)
            case 1:
                varied[at:at] = chance.randbytes(chance.randint(1, 8))
            case 2:
                del varied[at : at + chance.randint(1, 8)]
            case 3:
                varied[at : at + 1] = bytes([chance.choice((0, 1, 2, 3, 4, 12, 30, 0x10, 0x30, 0x7F, 0x80, 0xFF))])
    return bytes(varied[: chance.randrange(len(varied) + 1)]) if chance.random() < 0.3 else bytes(varied)
