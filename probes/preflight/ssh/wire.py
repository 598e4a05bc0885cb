"""SSH packets at the speed of the path: paramiko's own handling of bulk data would measure Python instead.

paramiko connects, exchanges keys and logs in; its `Transport` takes a class for the packet layer, and this is one. What
arrives for a channel that has a consumer is decrypted into one buffer and handed over from there, many packets to a
system call, without a copy or an object for each; everything else goes the usual way. Only AES-GCM (RFC 5647, in
OpenSSH's form) is done here; other ciphers keep paramiko's reading and still skip the channel's buffers.
"""

import time
from collections.abc import Callable
from typing import Any

from cryptography.exceptions import InvalidTag
from paramiko.message import Message
from paramiko.packet import NeedRekeyException, Packetizer
from paramiko.ssh_exception import SSHException

Consumer = Callable[[memoryview], None]
MAX_PACKET_BYTES = 256 * 1024 - 1024
"""Payload of a packet that is asked for: OpenSSH's limit is 256 KiB with everything around it."""

_CHANNEL_DATA = 94
_DATA_HEADER = 9  # message number, channel, length
_TAG = 16
_LONGEST = 256 * 1024 + 64
_BUFFER = 1024 * 1024


class BulkPacketizer(Packetizer):
    """paramiko's packet layer with a fast way for bulk data.

    Attributes:
        cipher_ns: time spent deciphering and enciphering bulk data so far (with other ciphers than AES-GCM: also taking
            packets apart).
    """

    # RFC 4344, 3.2: new keys after 2^32 blocks of 16 bytes. At paramiko's own limit a fast transfer stops each second.
    REKEY_BYTES = 2**36
    REKEY_PACKETS = 2**31

    def __init__(self, sock: Any) -> None:
        super().__init__(sock)
        self._socket = sock
        self._consumers: dict[int, Consumer] = {}
        self._opener: Any = None
        self._iv_head, self._iv_counter = b"", 0
        self._sequence = 0
        self._received = 0
        self._read_ns = 0
        self._buffer = memoryview(bytearray(_BUFFER))
        self._begin = self._end = 0
        self._plain = memoryview(bytearray(_LONGEST))
        self.cipher_ns = 0

    def consume(self, channel: int, consumer: Consumer | None) -> None:
        """From now on, this channel's data go to the consumer, in the transport's thread; None ends that.

        The view that a consumer gets is valid until it returns.
        """
        if consumer is None:
            self._consumers.pop(channel, None)
        else:
            self._consumers[channel] = consumer

    def set_inbound_cipher(self, *arguments: Any, **named: Any) -> None:
        """paramiko's hook: new keys for what arrives."""
        super().set_inbound_cipher(*arguments, **named)
        self._opener = named["block_engine"] if named.get("aead") else None
        if self._opener is not None:
            vector = named["iv_in"]
            self._iv_head, self._iv_counter = vector[:4], int.from_bytes(vector[4:], "big")
            self._received = 0

    def reset_seqno_in(self) -> None:
        """paramiko's hook: strict key exchange counts anew."""
        super().reset_seqno_in()
        self._sequence = 0

    def read_all(self, n: int, check_rekey: bool = False) -> bytes:
        """paramiko's hook, for other ciphers; its waiting is not the cipher's time."""
        begun = time.thread_time_ns()
        try:
            return super().read_all(n, check_rekey)
        finally:
            self._read_ns += time.thread_time_ns() - begun

    def read_message(self) -> tuple[int, Message]:
        """paramiko's hook: the next packet that is for nobody's consumer."""
        while True:
            kind, message = self._next() if self._opener is not None else self._next_slowly()
            if message is not None:
                return kind, message
            if self.need_rekey():
                raise NeedRekeyException

    def _next_slowly(self) -> tuple[int, Message | None]:
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
        """One packet: its number and message, or None if a consumer had it."""
        self._need(4)
        begin = self._begin
        length = int.from_bytes(self._buffer[begin : begin + 4], "big")
        if length % 16 or not 16 <= length <= _LONGEST - _TAG:
            raise SSHException(f"a packet says it has {length} bytes: the stream is damaged")
        self._need(4 + length + _TAG)
        begin = self._begin
        sealed = self._buffer[begin + 4 : begin + 4 + length + _TAG]
        vector = self._iv_head + self._iv_counter.to_bytes(8, "big")
        begun = time.thread_time_ns()
        try:
            self._opener.decrypt_into(vector, sealed, self._buffer[begin : begin + 4], self._plain[:length])
        except InvalidTag:
            raise SSHException("Mismatched MAC") from None
        self.cipher_ns += time.thread_time_ns() - begun
        self._begin = begin + 4 + length + _TAG
        self._iv_counter = (self._iv_counter + 1) & 0xFFFF_FFFF_FFFF_FFFF
        self._count(4 + length + _TAG)
        return self._dispatch(self._plain[1 : length - self._plain[0]])

    def _dispatch(self, payload: memoryview) -> tuple[int, Message | None]:
        kind = payload[0]
        if kind == _CHANNEL_DATA:
            consumer = self._consumers.get(int.from_bytes(payload[1:5], "big"))
            if consumer is not None:
                consumer(payload[_DATA_HEADER:])
                return kind, None
        message = Message(bytes(payload[1:]))
        message.seqno = (self._sequence - 1) & 0xFFFF_FFFF
        return kind, message

    def _count(self, size: int) -> None:
        self._sequence = (self._sequence + 1) & 0xFFFF_FFFF
        self._received += size
        if self._received >= self.REKEY_BYTES and not self.need_rekey():
            self._trigger_rekey()

    def _need(self, size: int) -> None:
        """Returns once so many bytes of the stream lie in the buffer."""
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
