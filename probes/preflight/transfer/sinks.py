"""Where downloaded bytes go: a file only takes its name when it is whole."""

import os
import stat
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from flightpath.errors import MeasurementFailed, UsageError
from probes.preflight.spec import NULL_SINK


class Sink:
    """Takes bytes; this one forgets them.

    Attributes:
        disk_ns: how long writing has kept its thread waiting; what it computed meanwhile does not count.
    """

    disk_ns = 0

    def write(self, view: memoryview, offset: int) -> None:
        """Puts bytes at their place."""

    def close(self) -> None:
        """No more bytes come."""


class FileSink(Sink):
    """Writes into a file that is there.

    Raises MeasurementFailed if it cannot be opened or written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            raise _failed(path, error) from error
        self._places = stat.S_ISREG(os.fstat(self._handle).st_mode)

    def write(self, view: memoryview, offset: int) -> None:
        """Puts bytes at their place; a device or a pipe takes them as they come."""
        begun, computed = time.perf_counter_ns(), time.thread_time_ns()
        try:
            while len(view):
                done = os.pwrite(self._handle, view, offset) if self._places else os.write(self._handle, view)
                view, offset = view[done:], offset + done
        except OSError as error:
            raise _failed(self._path, error) from error
        finally:
            waited = time.perf_counter_ns() - begun - (time.thread_time_ns() - computed)
            self.disk_ns += max(0, waited)

    def close(self) -> None:
        """Closes it."""
        os.close(self._handle)


def open_sink(path: str) -> Sink:
    """The sink for a path."""
    return Sink() if path == NULL_SINK else FileSink(path)


class LocalFile:
    """A local file that a download makes: it gets its name when all of it is there, and never exists half.

    A context manager; `path` is what to write to meanwhile. Devices and pipes are written to directly.

    Args:
        name: as the user gave it.
        size: bytes that it will have.
    """

    def __init__(self, name: str, size: int) -> None:
        self._name, self._size = Path(name), size
        self._direct = self._name.exists() and not self._name.is_file()
        self.path = name if self._direct else str(self._name.with_name(f".{self._name.name}.preflight-{os.getpid()}"))

    def __enter__(self) -> Self:
        if self._direct:
            if self._name.is_dir():
                raise UsageError(f"--to: {self._name} is a folder", "name a file in it")
            return self
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UsageError(f"--to: {self._name} cannot be written: {error.strerror}") from error
        try:
            os.ftruncate(handle, self._size)
        except OSError as error:
            Path(self.path).unlink()
            raise _failed(str(self._name), error) from error
        finally:
            os.close(handle)
        return self

    def keep(self) -> None:
        """It is whole: from now on it has its name."""
        if not self._direct:
            Path(self.path).replace(self._name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._direct:
            Path(self.path).unlink(missing_ok=True)


def _failed(path: str, error: OSError) -> MeasurementFailed:
    place = path.rpartition("/")[0] or "."
    hint = f"make room in {place}, or use --to /dev/null" if error.errno == 28 else ""
    return MeasurementFailed(f"{path} cannot be written: {error.strerror}", hint)
