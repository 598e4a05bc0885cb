"""A program at a terminal, and a person who types."""

import codecs
import contextlib
import os
import pty
import select
import signal
import time
from collections.abc import Sequence
from typing import Self


class Terminal:
    """A program that runs at a terminal of 24 lines and 80 columns, as a context manager; `pid` is the program's."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a read may end within a character

    def __enter__(self) -> Self:
        self.pid, self._file = pty.fork()
        if self.pid == 0:
            os.execvp(self._argv[0], self._argv)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def type(self, keys: str) -> None:
        """Types; Ctrl-C is \\x03."""
        os.write(self._file, keys.encode())

    def read_until(self, expected: str, limit_s: float = 60) -> str:
        """Output up to a text that is expected."""
        deadline, shown = time.monotonic() + limit_s, ""
        while expected not in shown:
            assert time.monotonic() < deadline, f"waited for {expected!r} and saw {shown!r}"
            if select.select([self._file], [], [], 0.1)[0]:
                try:
                    shown += self._decoder.decode(os.read(self._file, 4096))
                except OSError as error:
                    raise AssertionError(f"the program ended after {shown!r}") from error
        return shown

    def read_to_end(self, limit_s: float = 60) -> str:
        deadline, shown = time.monotonic() + limit_s, ""
        with contextlib.suppress(OSError):  # the terminal is gone
            while True:
                left_s = max(0.0, deadline - time.monotonic())
                assert select.select([self._file], [], [], left_s)[0], f"still running after {shown!r}"
                shown += self._decoder.decode(os.read(self._file, 4096))
        return shown

    def exit_code(self) -> int:
        """Waits for the program's end."""
        self.read_to_end()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
