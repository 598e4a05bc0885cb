"""paramiko's packet layer with a fast path for bulk data.

paramiko connects, exchanges keys and logs in; its `Transport` accepts another class for the packet layer. This one
receives many packets per system call, decrypts them into one buffer, and passes the data of a channel that has a
consumer on from there, without a copy or an object per packet. All other packets take paramiko's way. The fast path is
for AES-GCM in OpenSSH's form (RFC 5647); with other ciphers paramiko reads, and only the channel's buffers are skipped.
"""

import time
from collections.abc import Callable
from typing import Any

from cryptography.exceptions import InvalidTag
from paramiko.message import Message
from paramiko.packet import NeedRekeyException, Packetizer
from paramiko.ssh_exception import SSHException

from flightpath.overrides import override

Consumer = Callable[[memoryview], None]
MAX_PACKET_BYTES = 256 * 1024 - 1024
"""Largest payload to request: OpenSSH allows packets of 256 KiB, headers included."""

_CHANNEL_DATA = 94
_DATA_HEADER = 9  # message number, channel, length
_TAG = 16
_LONGEST = 256 * 1024 + 64
_BUFFER = 1024 * 1024


class BulkPacketizer(Packetizer):
    """A packet layer that passes the data of some channels directly to consumers.

    Attributes:
        cipher_ns: processor time spent decrypting bulk data (with ciphers other than AES-GCM: and parsing its packets).
    """

    # RFC 4344, 3.2: new keys after 2^32 blocks of 16 bytes. paramiko's limit would stop a fast transfer each second.
    REKEY_BYTES = 2**36
    REKEY_PACKETS = 2**31

    def __init__(self, sock: Any) -> None:
        super().__init__(sock)
        self._socket = sock
        self._consumers: dict[int, Consumer] = {}
        self._aead: Any = None
        self._iv_head, self._iv_counter = b"", 0
        self._sequence = 0
        self._received = 0
        self._read_ns = 0
        self._buffer = memoryview(bytearray(_BUFFER))
        self._begin = self._end = 0
        self._plain = memoryview(bytearray(_LONGEST))
        self.cipher_ns = 0

    def consume(self, channel: int, consumer: Consumer) -> None:
        """Passes this channel's data to a consumer from now on, in the transport's thread.

        The consumer must not keep the view that it gets.
        """
        self._consumers[channel] = consumer

    @override
    def set_inbound_cipher(self, *arguments: Any, **named: Any) -> None:
        super().set_inbound_cipher(*arguments, **named)
        self._aead = named["block_engine"] if named.get("aead") else None
        if self._aead is not None:
            vector = named["iv_in"]
            self._iv_head, self._iv_counter = vector[:4], int.from_bytes(vector[4:], "big")
            self._received = 0

    @override
    def reset_seqno_in(self) -> None:
        super().reset_seqno_in()
        self._sequence = 0

    @override
    def read_all(self, n: int, check_rekey: bool = False) -> bytes:
        # Called for ciphers other than AES-GCM; its time is subtracted from the cipher's.
        begun = time.thread_time_ns()
        try:
            return super().read_all(n, check_rekey)
        finally:
            self._read_ns += time.thread_time_ns() - begun

    @override
    def read_message(self) -> tuple[int, Message]:
        while True:
            kind, message = self._next() if self._aead is not None else self._next_of_paramiko()
            if message is not None:
                return kind, message
            if self.need_rekey():
                raise NeedRekeyException

    def _next_of_paramiko(self) -> tuple[int, Message | None]:
        begun, read = time.thread_time_ns(), self._read_ns
        kind, message = super().read_message()
        if kind != _CHANNEL_DATA:
            return kind, message
        self.cipher_ns += time.thread_time_ns() - begun - (self._read_ns - read)
        view = memoryview(message.asbytes())
        consumer = self._consumers.get(int.from_bytes(view[:4], "big"))
        if consumer is None:
            return kind, message
        consumer(view[_DATA_HEADER - 1 :])
        return kind, None

    def _next(self) -> tuple[int, Message | None]:
        """Returns the next packet's type and message; None instead of the message if a consumer got it."""
        self._await_bytes(4)
        begin = self._begin
        length = int.from_bytes(self._buffer[begin : begin + 4], "big")
        if length % 16 or not 16 <= length <= _LONGEST - _TAG:
            raise SSHException(f"invalid packet length {length}: the stream is damaged")
        self._await_bytes(4 + length + _TAG)
        begin = self._begin
        sealed = self._buffer[begin + 4 : begin + 4 + length + _TAG]
        vector = self._iv_head + self._iv_counter.to_bytes(8, "big")
        begun = time.thread_time_ns()
        try:
            self._aead.decrypt_into(vector, sealed, self._buffer[begin : begin + 4], self._plain[:length])
        except InvalidTag:
            raise SSHException("Mismatched MAC") from None
        self.cipher_ns += time.thread_time_ns() - begun
        self._begin = begin + 4 + length + _TAG
        self._iv_counter = (self._iv_counter + 1) & 0xFFFF_FFFF_FFFF_FFFF
        self._sequence = (self._sequence + 1) & 0xFFFF_FFFF
        self._received += 4 + length + _TAG
        if self._received >= self.REKEY_BYTES and not self.need_rekey():
            self._trigger_rekey()
        if self._plain[0] > length - 2:  # a packet has at least its type
            raise SSHException(f"invalid padding of {self._plain[0]} bytes: the far end speaks no SSH")
        payload = self._plain[1 : length - self._plain[0]]
        kind = payload[0]
        if kind == _CHANNEL_DATA:
            consumer = self._consumers.get(int.from_bytes(payload[1:5], "big"))
            if consumer is not None:
                consumer(payload[_DATA_HEADER:])
                return kind, None
        message = Message(bytes(payload[1:]))
        message.seqno = (self._sequence - 1) & 0xFFFF_FFFF
        return kind, message

    def _await_bytes(self, size: int) -> None:
        """Waits until the buffer has so many bytes of the stream."""
        if self._begin == self._end:
            self._begin = self._end = 0
        while self._end - self._begin < size:
            if len(self._buffer) - self._begin < size:
                left = self._end - self._begin
                self._buffer[:left] = self._buffer[self._begin : self._end]
                self._begin, self._end = 0, left
            self._fill(idle=size == 4 and self._begin == self._end)

    def _fill(self, idle: bool) -> None:
        try:
            got = self._socket.recv_into(self._buffer[self._end :])
        except (TimeoutError, BlockingIOError):
            if self.closed or self.handshake_timed_out():
                raise EOFError from None
            if idle and self.need_rekey():
                raise NeedRekeyException from None
            self._check_keepalive()
            return
        except OSError:
            if self.closed:
                raise EOFError from None
            raise
        if not got:
            raise EOFError
        self._end += got
