"""Sinks of downloaded bytes: none, or a local file that gets its name when it is complete."""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flightpath.errors import MeasurementFailed, UsageError
from flightpath.overrides import override


class Sink:
    """Discards bytes.

    Attributes:
        disk_ns: time that writing has waited for the disk, without processor time.
    """

    disk_ns = 0

    def write(self, view: memoryview, offset: int) -> None:
        """Writes bytes at an offset of the file."""

    def close(self) -> None:
        """Closes the file."""


class FileSink(Sink):
    """Writes to an existing file, or to a device or pipe, which takes bytes in the order in which they come."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            raise _write_error(path, error) from error
        self._has_offsets = stat.S_ISREG(os.fstat(self._handle).st_mode)

    @override
    def write(self, view: memoryview, offset: int) -> None:
        begun, computed = time.perf_counter_ns(), time.thread_time_ns()
        try:
            while len(view):
                done = os.pwrite(self._handle, view, offset) if self._has_offsets else os.write(self._handle, view)
                view, offset = view[done:], offset + done
        except OSError as error:
            raise _write_error(self._path, error) from error
        finally:
            waited = time.perf_counter_ns() - begun - (time.thread_time_ns() - computed)
            self.disk_ns += max(0, waited)

    @override
    def close(self) -> None:
        os.close(self._handle)


@contextmanager
def local_file(name: str, size: int) -> Iterator[str]:
    """Yields a path to write a download to during the block; at its end the complete file gets its name.

    Devices and pipes are written to directly. If the block fails, nothing is left.
    """
    path = Path(name)
    if path.is_dir():
        raise UsageError(f"--to: {name} is a folder", "name a file in it")
    if path.exists() and not path.is_file():
        yield name
        return
    handle, partial = _new_file(path)
    try:
        try:
            os.ftruncate(handle, size)
        except OSError as error:
            raise _write_error(name, error) from error
        yield str(partial or f"/proc/{os.getpid()}/fd/{handle}")
        _name(handle, partial, path)
    finally:
        os.close(handle)
        if partial:
            partial.unlink(missing_ok=True)


def _new_file(path: Path) -> tuple[int, Path | None]:
    """Makes a file in the folder of a path, without a name if possible: then it vanishes with this process."""
    flags = os.O_WRONLY | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        return os.open(path.parent, flags | os.O_TMPFILE, 0o666), None
    partial = _partial(path)
    try:
        return os.open(partial, flags | os.O_CREAT | os.O_EXCL, 0o666), partial
    except OSError as error:
        raise UsageError(f"--to: {path} cannot be written: {error.strerror}") from error


def _name(handle: int, partial: Path | None, path: Path) -> None:
    """Gives a complete file its name; a file that has that name already is replaced."""
    try:
        if partial is None:
            partial = _partial(path)
            partial.unlink(missing_ok=True)
            os.link(f"/proc/self/fd/{handle}", partial, src_dir_fd=handle)  # linkat(2), which follows the link in /proc
        partial.replace(path)
    except OSError as error:
        raise _write_error(str(path), error) from error


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.preflight-{os.getpid()}")


def _write_error(path: str, error: OSError) -> MeasurementFailed:
    folder = path.rpartition("/")[0] or "."
    hint = f"make room in {folder}, or use --to /dev/null" if error.errno == errno.ENOSPC else ""
    return MeasurementFailed(f"{path} cannot be written: {error.strerror}", hint)
