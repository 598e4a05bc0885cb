"""The answers of a far end's SFTP server: the probe makes and removes its own files there, or fails in a sentence."""

import contextlib
import random
import re
import struct

from paramiko.sftp import CMD_ATTRS, CMD_EXTENDED_REPLY, CMD_HANDLE, CMD_NAME, CMD_REMOVE, CMD_RMDIR, CMD_STATUS

from flightpath.errors import FlightpathError
from probes.preflight.ssh.remote_folder import PREFIX, RemoteFolder
from probes.preflight.ssh.sftp import TRANSPORT_ERRORS, Sftp
from tests.fuzz.mutation import WORDS, pack, unpack, vary_bytes

_OWN = re.compile(re.escape(PREFIX) + r"[0-9a-f]{16}(/stream-[0-9]{2})?")
_PROTOCOL_VERSION = 3
_ANSWERS = 12
_SIZE = 100


class _FarEnd:
    """The channel to a server that gives these answers, whatever it is asked; then it is gone."""

    def __init__(self, data: bytes) -> None:
        self._answers = unpack(data)
        self._waiting = struct.pack("!IBI", 5, 2, _PROTOCOL_VERSION)
        self.removed: list[str] = []

    def send(self, data: bytes) -> int:
        kind, number = data[4], data[5:9]
        if kind in (CMD_REMOVE, CMD_RMDIR):
            self.removed.append(data[13:].decode(errors="replace"))
        answer = next(self._answers, None) if kind != 1 else None
        if answer is not None:
            self._waiting += struct.pack("!IB", len(answer[1]) + 5, answer[0]) + number + answer[1]
        return len(data)

    def recv(self, size: int) -> bytes:
        some, self._waiting = self._waiting[:size], self._waiting[size:]
        return some

    def close(self) -> None:
        pass

    def get_name(self) -> str:
        return "far end"


def made(chance: random.Random) -> bytes:
    """Some answers: right ones in some order, and damaged ones."""
    return pack(_answer(chance) for _ in range(chance.randint(1, _ANSWERS)))


def read(data: bytes) -> None:
    """Does what a measurement does in its folder."""
    far_end = _FarEnd(data)
    sftp = Sftp(far_end)
    folder = RemoteFolder(sftp, "")
    with contextlib.suppress(*TRANSPORT_ERRORS):
        sftp.limits()
    for step in (folder.make, lambda: folder.make_file(0, _SIZE), lambda: folder.remove(sftp)):
        with contextlib.suppress(FlightpathError):
            step()
    assert all(_OWN.fullmatch(path) for path in far_end.removed), far_end.removed


def _answer(chance: random.Random) -> tuple[int, bytes]:
    kind, content = chance.choice(_originals(chance))
    return (chance.randrange(256), content) if chance.random() < 0.1 else (kind, vary_bytes(chance, [content]))


def _originals(chance: random.Random) -> list[tuple[int, bytes]]:
    names = [f"{PREFIX}{chance.randrange(2**64):016x}", "stream-01", "../../x", chance.choice(WORDS)[:50]]
    entries = b"".join(_text(name) + _text("-") + _attributes(chance) for name in names)
    return [
        (CMD_STATUS, struct.pack("!I", chance.randrange(9)) + _text("said") + _text("")),
        (CMD_STATUS, struct.pack("!I", 0) + _text("") + _text("")),
        (CMD_HANDLE, _text("handle")),
        (CMD_NAME, struct.pack("!I", len(names)) + entries),
        (CMD_ATTRS, _attributes(chance)),
        (CMD_EXTENDED_REPLY, struct.pack("!11Q", *(chance.choice((0, 1, 4096, 2**63)) for _ in range(11)))),
    ]


def _attributes(chance: random.Random) -> bytes:
    mode = chance.choice((0o040700, 0o100600, 0o120777))
    times = chance.choice((0, 1, 2**31, 2**32 - 1))
    return struct.pack("!IQIIIII", 0b1111, chance.choice((0, _SIZE, 2**64 - 1)), 0, 0, mode, times, times)


def _text(text: str) -> bytes:
    content = text.encode(errors="replace")
    return struct.pack("!I", len(content)) + content
