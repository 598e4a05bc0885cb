"""A file system with slow writes, for tests of what a slow disk does to a measurement.

It speaks FUSE's protocol (linux/fuse.h) with the kernel itself: files in one folder, whose content is forgotten.
"""

import errno
import os
import stat
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flightpath import libc

_REQUEST = struct.Struct("=IIQQIIII")  # length, operation, unique, node, uid, gid, pid, padding
_REPLY = struct.Struct("=IiQ")  # length, -errno, unique
_BUFFER = 1 << 20
_ROOT = 1
LOOKUP, FORGET, GETATTR, SETATTR, UNLINK, RENAME, OPEN, WRITE, RELEASE = 1, 2, 3, 4, 10, 12, 14, 16, 18
FLUSH, INIT, CREATE, INTERRUPT, RENAME2 = 25, 26, 35, 36, 45
_SIZE_IS_SET = 1 << 3
_BIG_WRITES = 1 << 5


class _Files:
    """Answers the kernel's requests."""

    def __init__(self, seconds_per_write: float) -> None:
        self._pause_s = seconds_per_write
        self._nodes: dict[bytes, int] = {}
        self._sizes: dict[int, int] = {}

    def answer(self, operation: int, node: int, body: bytes) -> bytes:
        """The reply's body; raises OSError."""
        name = body.partition(b"\0")[0]
        if operation == INIT:
            major, minor, ahead = struct.unpack_from("=III", body)
            return struct.pack("=IIIIHHIIHHI28x", major, min(minor, 31), ahead, _BIG_WRITES, 0, 0, 1 << 17, 1, 0, 0, 0)
        if operation == LOOKUP:
            if name not in self._nodes:
                raise FileNotFoundError(errno.ENOENT, "")
            return self._entry(self._nodes[name])
        if operation == CREATE:
            made = self._nodes[body[16:].partition(b"\0")[0]] = _ROOT + 1 + len(self._sizes)
            self._sizes[made] = 0
            return self._entry(made) + struct.pack("=QII", 0, 0, 0)
        if operation == SETATTR and struct.unpack_from("=I", body)[0] & _SIZE_IS_SET:
            self._sizes[node] = struct.unpack_from("=Q", body, 16)[0]
        if operation in (GETATTR, SETATTR):
            return struct.pack("=QII", 0, 0, 0) + self._attributes(node)
        if operation == OPEN:
            return struct.pack("=QII", 0, 0, 0)
        if operation == WRITE:
            _handle, offset, size = struct.unpack_from("=QQI", body)
            time.sleep(self._pause_s)
            self._sizes[node] = max(self._sizes[node], offset + size)
            return struct.pack("=II", size, 0)
        if operation == UNLINK:
            del self._nodes[name]
        elif operation in (RENAME, RENAME2):
            before, after = body[8 if operation == RENAME else 16 :].split(b"\0")[:2]
            self._nodes[after] = self._nodes.pop(before)
        elif operation not in (RELEASE, FLUSH):
            raise OSError(errno.ENOSYS, "")
        return b""

    def _entry(self, node: int) -> bytes:
        return struct.pack("=QQQQII", node, 0, 0, 0, 0, 0) + self._attributes(node)

    def _attributes(self, node: int) -> bytes:
        mode = stat.S_IFDIR | 0o777 if node == _ROOT else stat.S_IFREG | 0o666
        return struct.pack("=QQQQQQIIIIIIIIII", node, self._sizes.get(node, 0), *[0] * 7, mode, *[1, 0, 0, 0, 4096, 0])


def _serve(device: int, files: _Files) -> None:
    while True:
        try:
            request = os.read(device, _BUFFER + 4096)
        except OSError:  # unmounted
            return
        _length, operation, unique, node, *_ = _REQUEST.unpack_from(request)
        if operation in (FORGET, INTERRUPT):
            continue  # nobody waits for an answer
        try:
            body, error = files.answer(operation, node, request[_REQUEST.size :]), 0
        except OSError as problem:
            body, error = b"", -problem.errno
        os.write(device, _REPLY.pack(_REPLY.size + len(body), error, unique) + body)


@contextmanager
def slow_disk(folder: Path, seconds_per_write: float) -> Iterator[None]:
    """At the folder, during the block: each write of at most 128 KiB takes so long. In a mount namespace of one's own.

    Raises:
        OSError: there is no /dev/fuse, or this user may not mount it.
    """
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40777,user_id=0,group_id=0,allow_other".encode()
    libc.call("mount", b"slow", str(folder).encode(), b"fuse.slow", 0, options, what="mounting FUSE")
    serving = threading.Thread(target=_serve, args=(device, _Files(seconds_per_write)), daemon=True)
    serving.start()
    try:
        yield
    finally:
        libc.call("umount2", str(folder).encode(), 2)  # MNT_DETACH
        serving.join()
        os.close(device)
