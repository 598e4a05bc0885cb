"""SFTP sessions at the far end: paramiko's client with what a measurement needs besides."""

import time
from collections.abc import Callable
from typing import Any

from paramiko import Message, SFTPAttributes, SFTPClient
from paramiko.sftp import CMD_ATTRS, CMD_CLOSE, CMD_EXTENDED, CMD_EXTENDED_REPLY, CMD_OPENDIR, CMD_READDIR, SFTPError
from paramiko.ssh_exception import SSHException

from flightpath.overrides import override

TRANSPORT_ERRORS = (OSError, EOFError, SSHException, SFTPError, UnicodeError)
"""Exceptions of paramiko if the far end refuses something or answers nonsense, or the connection breaks."""

_ATTRIBUTE_BYTES = {
    SFTPAttributes.FLAG_SIZE: 8,
    SFTPAttributes.FLAG_UIDGID: 8,
    SFTPAttributes.FLAG_PERMISSIONS: 4,
    SFTPAttributes.FLAG_AMTIME: 8,
}

MAX_ENTRIES, LISTING_LIMIT_S = 10_000, 10.0
"""Limits of listing a folder: number of entries, and seconds."""

_COMMON_REQUEST_BYTES = 32 * 1024
_WINDOW_ADJUST = b"\x5d"


class Sftp(SFTPClient):
    """paramiko's SFTP client with two of OpenSSH's extensions (its file PROTOCOL, sections 4.6 and 4.8)."""

    @property
    def is_active(self) -> bool:
        """Whether the connection below still stands."""
        return self.get_channel().transport.is_active()

    @property
    def window_bytes(self) -> int:
        """The bytes that the far end may send before this end enlarges the channel's window."""
        return self.get_channel().in_window_size

    @property
    def may_send(self) -> Callable[[], bool]:
        """A function that returns whether a message can be sent without waiting for a key exchange."""
        return self.get_channel().transport.clear_to_send.is_set

    def enlarge_window(self, size: int) -> None:
        """Lets the far end send `size` more bytes on the channel."""
        channel, message = self.get_channel(), Message()
        message.add_byte(_WINDOW_ADJUST)
        message.add_int(channel.remote_chanid)
        message.add_int(size)
        channel.transport._send_user_message(message)

    def limits(self) -> tuple[int, int]:
        """Returns the far end's largest reads and writes, in bytes; without the extension, the common minimum."""
        reply = self._extension("limits@openssh.com")
        if reply is None:
            return _COMMON_REQUEST_BYTES, _COMMON_REQUEST_BYTES
        _packet, read, write, _handles = (reply.get_int64() for _ in range(4))
        return read or _COMMON_REQUEST_BYTES, write or _COMMON_REQUEST_BYTES

    def free_bytes(self, folder: str) -> int | None:
        """Returns the free space for this user on the disk of a folder, in bytes; None without the extension."""
        reply = self._extension("statvfs@openssh.com", folder or ".")
        if reply is None:
            return None
        _block, fragment, _blocks, _free, available = (reply.get_int64() for _ in range(5))
        return fragment * available

    def first_entries(self, folder: str) -> list[SFTPAttributes]:
        """Lists a folder up to `MAX_ENTRIES` and a time limit, because a far end may never end.

        Raises:
            OSError, EOFError, SSHException, SFTPError: the folder cannot be listed.
        """
        entries: list[SFTPAttributes] = []
        deadline = time.monotonic() + LISTING_LIMIT_S
        _kind, reply = self._request(CMD_OPENDIR, folder)
        handle = reply.get_binary()
        while len(entries) < MAX_ENTRIES and time.monotonic() < deadline:
            try:
                _kind, reply = self._request(CMD_READDIR, handle)
            except EOFError:
                break
            for _ in range(min(reply.get_int(), MAX_ENTRIES - len(entries))):
                name, description = reply.get_text(), reply.get_text()
                _require_whole_attributes(reply)
                entry = SFTPAttributes._from_msg(reply, name, description)
                if name not in (".", ".."):
                    entries.append(entry)
        self._request(CMD_CLOSE, handle)
        return entries

    @override
    def _request(self, t: int, *args: Any) -> tuple[int, Message]:
        kind, reply = super()._request(t, *args)
        if kind == CMD_ATTRS:
            _require_whole_attributes(reply)
        return kind, reply

    def _extension(self, *request: str) -> Message | None:
        try:
            kind, reply = self._request(CMD_EXTENDED, *request)
        except (OSError, SFTPError):
            return None
        return reply if kind == CMD_EXTENDED_REPLY else None


def _require_whole_attributes(reply: Message) -> None:
    """Raises SFTPError if more extended attributes follow than the reply has room for.

    Beyond the end of a reply paramiko reads zeros, and so would read four billion attributes.
    """
    rest = reply.get_remainder()
    flags = _number(rest)
    at = 4 + sum(size for flag, size in _ATTRIBUTE_BYTES.items() if flags & flag)
    if flags & SFTPAttributes.FLAG_EXTENDED and 8 * _number(rest[at:]) > len(rest):
        raise SFTPError("the attributes of a file are cut off")


def _number(data: bytes) -> int:
    """Returns the first four bytes, of which missing ones are zeros, as paramiko reads them."""
    return int.from_bytes(data[:4].ljust(4, b"\0"), "big")


def reason(error: Exception) -> str:
    """Returns a transport's error in words: EOFError has none."""
    return str(error) or "the connection was closed"
