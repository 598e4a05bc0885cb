"""Packets of an SSH server, encrypted as they should be and with any content: messages, or the transport's error."""

import contextlib
import random
import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from paramiko.packet import NeedRekeyException
from paramiko.ssh_exception import SSHException

from probes.preflight.ssh.packetizer import BulkPacketizer
from tests.fuzz.mutation import pack, unpack, vary_bytes

_KEY, _VECTOR = bytes(16), bytes(12)
_CHANNEL = 7
_PACKETS = 20
_SEALED, _AS_IT_IS = 0, 1


class _Connection:
    """A socket that has received these bytes, and is then closed."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def recv_into(self, room: memoryview) -> int:
        some, self._data = self._data[: len(room)], self._data[len(room) :]
        room[: len(some)] = some
        return len(some)


def made(chance: random.Random) -> bytes:
    """Plain packets that are to be sealed, and bytes that are not."""
    return pack(_packet(chance) for _ in range(chance.randint(1, _PACKETS)))


def read(data: bytes) -> None:
    """Reads them all; the consumer of a channel gets no more than was sent."""
    taken: list[int] = []
    packetizer = BulkPacketizer(_Connection(_on_the_wire(data)))
    packetizer.consume(_CHANNEL, lambda view: taken.append(len(view)))
    packetizer.set_inbound_cipher(block_engine=AESGCM(_KEY), block_size=16, mac_engine=None, mac_size=16,
        mac_key=None, etm=False, aead=True, iv_in=_VECTOR)  # fmt: skip
    with contextlib.suppress(SSHException, EOFError, NeedRekeyException):
        while True:
            packetizer.read_message()
    assert sum(taken) <= len(data)


def _on_the_wire(data: bytes) -> bytes:
    cipher, counter, wire = AESGCM(_KEY), 0, b""
    for kind, content in unpack(data):
        if kind == _AS_IT_IS:
            wire += content
            continue
        plain = content[: len(content) // 16 * 16] or bytes(16)
        length = struct.pack("!I", len(plain))
        wire += length + cipher.encrypt(_VECTOR[:4] + counter.to_bytes(8, "big"), plain, length)
        counter += 1
    return wire


def _packet(chance: random.Random) -> tuple[int, bytes]:
    """Padding, then a message: channel data for the consumer, or another; its lengths may lie."""
    payload = struct.pack("!BII", chance.choice((94, 94, 0, 2, 255)), _CHANNEL, chance.choice((0, 5, 2**32 - 1)))
    payload += chance.randbytes(chance.randrange(40))
    padding = -(len(payload) + 1) % 16
    said = padding if chance.random() < 0.7 else chance.randrange(256)
    content = bytes([said]) + payload + bytes(padding)
    return (_SEALED, content) if chance.random() < 0.9 else (_AS_IT_IS, vary_bytes(chance, [content]))
