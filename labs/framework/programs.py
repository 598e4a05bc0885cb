"""Students' programs in a host: unprivileged, and limited in time, processes, memory and output."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from flightpath import commands
from flightpath.errors import MeasurementFailed
from flightpath.hosts import Host
from flightpath.processes import descendants
from flightpath.project import PROJECT
from topologies.sandbox.sandbox import TEMPORARY

_USER = "65533"
_MAX_OUTPUT = 1 << 18
_PROCESSES, _MEMORY_BYTES, _FILE_BYTES = 64, 256 << 20, 16 << 20
SHOWN = 400
"""Maximum length of a program's output in a message, in characters."""

_HIDE = '''\
for folder in /tmp /var/tmp /dev/shm; do [ ! -d $folder ] || mount -t tmpfs -o mode=1777,size=64m own $folder; done
mount -t tmpfs -o mode=0755 empty /mnt
exec "$@"'''
"""Gives a program folders of its own where anybody may write, and hides where a guest's answers go."""

_PYTHON, _PROJECT = TEMPORARY / "python", TEMPORARY / "project"


@dataclass(frozen=True)
class Ended:
    """A program's exit code and output (at most 256 kB)."""

    code: int
    output: str


class Program:
    """A student's program that runs."""

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        assert process.stdout is not None, "the process must have a pipe for its output"
        self.name = name
        self._process, self._stdout = process, process.stdout
        self._chunks: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def output(self) -> str:
        """Output so far (at most 256 kB)."""
        return b"".join(self._chunks).decode(errors="replace")

    def check(self) -> None:
        """Raises MeasurementFailed if it has ended; the message has the end of what it printed."""
        if self._process.poll() is not None:
            self._reader.join(1)
            raise MeasurementFailed(f"{self.name} {self._ended()}")

    def wait(self, seconds: float) -> Ended:
        """Waits for its end; raises as `run` does."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise MeasurementFailed(f"{self.name} did not end within {seconds:g} s") from error
        self._reader.join(1)
        if code:
            raise MeasurementFailed(f"{self.name} {self._ended()}")
        return Ended(code, self.output)

    def stop(self) -> None:
        """Ends the program with all its children, which end with the first process of their PID namespace."""
        for process in descendants(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(1)

    def _ended(self) -> str:
        output = self.output.strip()[-SHOWN:] or "it printed nothing"
        return f"ended with exit code {self._process.returncode}: {output}"

    def _read(self) -> None:
        size = 0
        with self._stdout as stream:
            while chunk := os.read(stream.fileno(), 1 << 14):
                if size < _MAX_OUTPUT:
                    self._chunks.append(chunk)
                    size += len(chunk)


@contextlib.contextmanager
def running(argv: Sequence[str], folder: Path, *, name: str, host: Host | None = None) -> Iterator[Program]:
    """Runs a student's program during the block.

    Args:
        folder: working folder; the program can read it, and write nowhere but in folders of its own, such as /tmp.
        host: host in which it runs; None: the network namespace of the switches.
    """
    start: Callable[..., subprocess.Popen[Any]] = (
        host.popen if host else partial(subprocess.Popen, start_new_session=True)
    )
    process = start(
        _confined(argv),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "PYTHONPATH": str(_PROJECT)},
    )
    program = Program(process, name)
    try:
        yield program
    finally:
        program.stop()


def run(host: Host, argv: Sequence[str], folder: Path, *, seconds: float, name: str) -> Ended:
    """Runs a student's program in a host to its end; for the arguments see `running`.

    Args:
        seconds: time limit, on the clock of the experiment.
    """
    with running(argv, folder, name=name, host=host) as program:
        return program.wait(seconds)


@cache
def python() -> str:
    """Mounts Flightpath's Python where unprivileged users can reach it, and returns its path."""
    for folder, target in ((sys.prefix, _PYTHON), (PROJECT, _PROJECT)):
        target.mkdir()
        commands.run(["mount", "--bind", str(folder), str(target)])
    return str(_PYTHON / "bin" / "python")


def _confined(argv: Sequence[str]) -> list[str]:
    """Returns a command that runs without privileges, in a PID namespace that ends with its first process."""
    limits = [f"--nproc={_PROCESSES}", f"--data={_MEMORY_BYTES}", f"--fsize={_FILE_BYTES}", "--core=0"]
    user = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", "--no-new-privs"]
    apart = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-ec", _HIDE, "sh"]
    return [*apart, "prlimit", *limits, *user, "--", *argv]
