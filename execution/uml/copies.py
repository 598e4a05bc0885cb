"""Copies of a virtual-time kernel whose clock stands still: one looks at a copy, and the original never knows.

The kernel copies its memory and starts each of its programs anew (`kernel.patch`). In the copy a shell, which the
original does not have, runs commands from files in the shared folder. Until it waits for something, no time passes.
"""

import itertools
import os
import shlex
import signal
from pathlib import Path
from typing import NamedTuple, Protocol

from execution.uml.clock_controller import HOLD, ClockController, GuestClock, Stops
from flightpath.errors import MeasurementFailed

_FIRST_PROGRAM = "copied"  # named in kernel.patch
_LOOP = """\
cd /mnt/shared
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
number=$1
while echo 1 > {hold} && [ -e look-$number ]; do
    sh look-$number > looked-$number 2>&1 < /dev/null
    echo $? > looked-$number.code
    number=$((number + 1))
done
"""
_TRIES = 10_000
"""Number of events after which a guest has been idle at one of them."""
_WAIT_LIMIT_S = 600
"""Limit for a guest to come to its next event, in real seconds."""
_FAILED = 2**63  # a negative error number
_POLL_S = 0.02

_numbers = itertools.count()


class Looked(NamedTuple):
    """Output and exit code of a command."""

    output: str
    code: int


class Stopped(Protocol):
    """A guest whose clock can stand still."""

    @property
    def clock(self) -> GuestClock:
        """Its clock."""

    @property
    def pace(self) -> Stops:
        """The pace of that clock."""


class GuestCopy:
    """A copy of a guest, until `close`.

    Args:
        shared: the folder that the guest and its copies share with this machine.
        controller: the clock of the first original, to whose socket all copies connect.
        original: the guest that is copied, whose clock stands still.

    Attributes:
        clock: its own clock.
        pace: pace of that clock; while commands run, it goes on as they need.

    Raises:
        MeasurementFailed: there is no memory for a copy, or the guest has ended.
    """

    def __init__(self, shared: Path, controller: ClockController, original: "Stopped") -> None:
        self._shared, self._number = shared, next(_numbers) << 20
        script = _LOOP.format(hold=HOLD)
        self._write(_FIRST_PROGRAM, f"exec /bin/sh -c {shlex.quote(script)} sh {self._number}\n")
        self.pace = Stops()
        self.clock = GuestClock(self.pace, holds=True)
        self._pid, self._has_ended = _copied(original), False
        try:
            controller.attend_copy(self.clock)
            self._await_hold()
        except OSError as error:
            self.close()
            raise MeasurementFailed(
                "the virtual-time kernel cannot be copied", "a copy needs as much memory as it: see `free -h`"
            ) from error

    def run(self, script: str) -> Looked:
        """Runs a shell script as root of the guest, outside the cell's namespaces.

        Raises:
            MeasurementFailed: the copy has ended meanwhile.
        """
        self._write(f"look-{self._number}", script)
        self.clock.release()
        try:
            self._await_hold()
            code = int(self._file().with_suffix(".code").read_text(encoding="ascii"))
        except (OSError, ValueError) as error:
            raise MeasurementFailed("the copy of the virtual-time kernel has ended") from error
        output = self._file().read_text(encoding="utf-8", errors="replace")
        self._number += 1
        return Looked(output, code)

    def become_original(self, now_ns: int) -> None:
        """Ends the shell: the copy stands still at the same time as the original, and is a run of its own."""
        self.pace.go_until(now_ns)
        self.clock.revoke_lead()
        self.clock.release()

    def close(self) -> None:
        """Ends the copy."""
        if not self._has_ended:  # afterwards its number may be another process's
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._has_ended = True

    def _await_hold(self) -> None:
        while not self.clock.is_held.wait(_POLL_S):
            if os.waitpid(self._pid, os.WNOHANG)[0]:
                self._has_ended = True
                raise ProcessLookupError

    def _file(self) -> Path:
        return self._shared / f"looked-{self._number}"

    def _write(self, name: str, text: str) -> None:
        (self._shared / name).write_text(text, encoding="utf-8")


def _copied(original: Stopped) -> int:
    """Returns the process of a new copy; where the kernel computes just now, it goes on until it waits."""
    for _ in range(_TRIES):
        if not original.pace.reached.wait(_WAIT_LIMIT_S):
            break
        if pid := original.clock.ask_for_copy():
            if pid >= _FAILED:
                break
            return pid
        original.pace.go_until(original.clock.wanted_ns + 1)
    raise MeasurementFailed("the virtual-time kernel cannot be copied: it never waits, or may start no process")
