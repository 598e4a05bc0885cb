"""A command in a guest kernel that runs as a process of this machine, and the folder that both share.

The folder holds the script `command`, its input (`stdin`), what it prints (`stdout`, `stderr`), the empty file
`booted`, `status`, the exit code, and perhaps `uptimes`, of the guest before and after the command.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO, ClassVar, Self

from execution.guests import standard_input
from execution.guests.shared_folder import shared_folder
from flightpath import libc
from flightpath.calls import SHARED
from flightpath.errors import MeasurementFailed

POLL_S = 0.05
STATUS = "status"
"""File with the command's exit code."""


class Guest(ABC):
    """One guest from its start to its end, as a context manager.

    Args:
        argv: the command.
        environment: variables for it.
        boot_limit_s: how long the guest may take to begin with the command.
        interactive: its console is this process's terminal.

    Attributes:
        kind: what messages call it.
        shared: the folder.
        shared_in_guest: its path in the guest; None: the same.
        command_s: how long the command took on the guest's clock, if the guest says so.
    """

    kind: str
    shared_in_guest: ClassVar[Path | None] = None

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], boot_limit_s: float, *, interactive: bool = False
    ) -> None:
        self._boot_limit_s, self._interactive = boot_limit_s, interactive
        self._stack, self.command_s = contextlib.ExitStack(), 0.0
        self.shared = self._stack.enter_context(shared_folder())
        shared = str(self.shared_in_guest or self.shared)
        (self.shared / "stdin").touch()
        (self.shared / "command").write_bytes(os.fsencode(_script(argv, {**environment, SHARED: shared})))

    @abstractmethod
    def kernel_command(self) -> tuple[list[str], Mapping[str, str]]:
        """Returns the program that is the guest's kernel, with its arguments and its environment."""

    def __enter__(self) -> Self:
        self._boot_deadline = time.monotonic() + self._boot_limit_s
        console = self._stack.enter_context((self.shared / "console").open("wb"))
        argv, environment = self.kernel_command()
        self._process = subprocess.Popen(
            argv,
            stdin=None if self._interactive else subprocess.DEVNULL,
            stdout=None if self._interactive else console,
            stderr=console,
            env=environment,
            cwd=self.shared,
            start_new_session=True,
            preexec_fn=partial(libc.end_with, os.getpid(), signal.SIGKILL),
        )
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._stack.close()

    def run(self, time_limit_s: float) -> int:
        """Starts the guest and runs the command to its end, with this process's standard input; see `wait`."""
        if not self._interactive:
            standard_input.copy_to(self.shared / "stdin")
        with self:
            return self.wait(time_limit_s)

    def booted(self) -> bool:
        """Waits until the guest begins with the command; returns whether it did."""
        while not (up := self.has_booted()) and self._process.poll() is None:
            if time.monotonic() > self._boot_deadline:
                return False
            time.sleep(POLL_S)
        return up

    def wait(self, time_limit_s: float) -> int:
        """Passes on what the command prints until it ends, and returns its exit code.

        Args:
            time_limit_s: on this machine's clock.

        Raises:
            MeasurementFailed: the guest does not boot, ended before the command, or the time is over.
        """
        if not self.booted():
            raise self.failure("does not boot")
        with (self.shared / "stdout").open("rb") as out, (self.shared / "stderr").open("rb") as err:

            def pass_on() -> None:
                _pass_on(out, sys.stdout.buffer)
                _pass_on(err, sys.stderr.buffer)

            return self.ended(time_limit_s, pass_on)

    def ended(self, time_limit_s: float, meanwhile: Callable[[], None]) -> int:
        """Waits for the end of the command, and returns its exit code.

        Args:
            time_limit_s: on this machine's clock.
            meanwhile: called now and then, the last time when the command has ended.

        Raises:
            MeasurementFailed: as for `exit_code`, or the time is over.
        """
        deadline = time.monotonic() + time_limit_s
        while True:
            status = self.exit_code()
            meanwhile()
            if status is not None:
                return status
            if time.monotonic() > deadline:
                raise MeasurementFailed(f"the command had not ended after {time_limit_s:g} s")
            time.sleep(POLL_S)

    def exit_code(self) -> int | None:
        """Returns the command's exit code; None while it runs.

        Raises:
            MeasurementFailed: the guest does not boot, ended before the command, or cannot get on.
        """
        has_ended, status = self._process.poll() is not None, self.shared / STATUS
        if status.exists():
            self.command_s = _lasted_s(self.shared / "uptimes")
            return _exit_code(status.read_text(encoding="ascii", errors="replace"))
        if has_ended:
            raise self.failure("has ended before the command")
        if not self.has_booted() and time.monotonic() > self._boot_deadline:
            raise self.failure("does not boot")
        return None

    def console(self) -> str:
        """Returns the end of what the guest's kernel and its programs printed."""
        files = [self.shared / name for name in ("console", "stderr")]
        output = "\n".join(file.read_text(errors="replace").strip()[-2000:] for file in files if file.exists())
        return output.strip() or "no output"

    def failure(self, what: str) -> MeasurementFailed:
        """Returns the error for what became of the guest, with why."""
        return MeasurementFailed(f"the {self.kind} {what}: {self.console()}")

    @property
    def pid(self) -> int:
        """Process of the guest's kernel on this machine."""
        return self._process.pid

    def has_booted(self) -> bool:
        """Returns whether it has begun with the command."""
        return (self.shared / "booted").exists()


def _script(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    variables = [f"{name}={value}" for name, value in environment.items()]
    return f"cd {shlex.quote(str(Path.cwd()))} && exec {shlex.join(['env', *variables, *argv])}\n"


def _exit_code(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}\s*", text):
        raise MeasurementFailed(f"the guest tells no exit code: {text[:40]!r}")
    return int(text)


def _lasted_s(uptimes: Path) -> float:
    """Returns the time between two readings of /proc/uptime."""
    try:
        began, ended = map(float, uptimes.read_text(encoding="ascii", errors="replace").split())
        return ended - began
    except (OSError, ValueError):
        return 0.0


def _pass_on(source: BinaryIO, target: BinaryIO) -> None:
    if text := source.read():
        target.write(text)
        target.flush()
