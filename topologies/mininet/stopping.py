"""Commands of `mn` in virtual time that let its clock stand still, and go on by steps.

At a terminal the clock keeps real pace. After `stop` it stands still while a person reads and types: the line is then
read outside of the virtual-time kernel. In a script it stands still between commands anyway.
"""

import inspect
import os
from typing import Any

from mininet.log import output

from flightpath.clock import Clock, clock_here
from flightpath.errors import UsageError
from flightpath.keyboard import line_from_outside
from topologies.links.conditions import EVENTS, Stepper

_LIMIT_S = 60.0
"""Limit for an event, in virtual time."""


class Stopping:
    """Mixin of a command line of Mininet's."""

    _stepper: Stepper
    _is_stopped = False
    cmdqueue: list[str]

    def do_stop(self, _line: str) -> None:
        """Stop the clock: only `step`, `until` and waiting commands then move it; `go` lets it run again.

        Usage: stop                                    (in virtual time)
        """
        if clock_here() is Clock.REAL:
            raise UsageError("stop: the real clock cannot be stopped", "start the network with --clock virtual")
        self._is_stopped = bool(os.environ.get("TERMINAL"))
        self._say_time()

    def do_go(self, _line: str) -> None:
        """Let the clock run again after `stop`.

        Usage: go
        """
        self._is_stopped = False

    def do_step(self, line: str) -> None:
        """Advance the clock by a time.

        Usage: step TIME                               (in virtual time)
        Example: step 10ms
        """
        self._stepper.step(line)
        self._say_time()

    def do_until(self, line: str) -> None:
        """Advance the clock to a moment, counted from the start of the command line, or to an event.

        Usage: until TIME
               until EVENT
        """
        self._stepper.until(line, _LIMIT_S)
        self._say_time()

    def help_until(self) -> None:
        """Mininet's hook: `help until`."""
        output(inspect.cleandoc(self.do_until.__doc__ or ""), f"\nEvents: {', '.join(EVENTS)}\n")

    def postcmd(self, stop: Any, line: str) -> Any:
        """Gets the next line from outside while the clock stands still; `cmd.Cmd` calls it after each command."""
        if self._is_stopped and not stop:
            self.cmdqueue.append(line_from_outside(f"{self._stepper.now_s:.9f} s> "))
        return stop

    def _say_time(self) -> None:
        if not self._is_stopped:  # else the prompt says it
            output(f"*** the clock stands at {self._stepper.now_s:.9f} s\n")
