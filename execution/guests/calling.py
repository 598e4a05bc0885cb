"""Calls of functions in guests (`flightpath.calls`): the near side."""

import contextlib
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from pydantic import BaseModel

from execution.guests.guest import POLL_S, Guest
from flightpath.calls import ANSWER, PROGRESS, REQUEST, Returns, name_of, write
from flightpath.errors import MeasurementFailed
from flightpath.launcher import python_module

_Value = TypeVar("_Value")

_SAME_ANYWHERE = "/usr/bin/env", "PYDANTIC_DISABLE_PLUGINS=__all__"
"""When pydantic is imported it looks for plugins, and so reads the metadata of every installed package: with more of
them a program has more in memory, and in virtual time other random numbers."""

_MAX_CHARACTERS = 6000
"""Most of a traceback that is shown: its end."""


class GuestCall(Generic[_Value]):
    """A function that runs in a guest.

    Attributes:
        guest: the guest.
    """

    def __init__(self, guest: Guest, returns: Returns[_Value]) -> None:
        self.guest, self._returns = guest, returns

    def answer(self) -> _Value | None:
        """Returns what the function returned; None while it runs.

        Raises:
            FlightpathError: what the function raised.
            MeasurementFailed: the guest ended without an answer, or the answer is malformed.
        """
        code = self.guest.exit_code()
        file = self.guest.shared / ANSWER
        try:
            if file.exists():
                return self._returns.value(file.read_bytes())
            if code is not None:
                raise MeasurementFailed(f"the {self.guest.kind} ended without an answer: {self.guest.console()}")
        except MeasurementFailed as error:
            if traceback := self._traceback():
                raise MeasurementFailed(traceback, error.hint) from error
            raise
        return None

    def _traceback(self) -> str:
        """Returns the exception that ended the function, one that nobody expected, with its traceback; or nothing."""
        printed = self.guest.shared / "stderr"
        text = printed.read_text(encoding="utf-8", errors="replace") if printed.exists() else ""
        _, began, rest = text.partition("Traceback (most recent call last):")
        traceback = f"{began}{rest}".strip()[-_MAX_CHARACTERS:]
        return f"{traceback.splitlines()[-1]}\n{textwrap.indent(traceback, '    ')}" if began else ""

    def wait(self, time_limit_s: float | None = None) -> _Value:
        """Waits for what the function returns.

        Raises:
            FlightpathError: as for `answer`.
            MeasurementFailed: it takes longer than the limit, on this machine's clock.
        """
        deadline = None if time_limit_s is None else time.monotonic() + time_limit_s
        while (value := self.answer()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise MeasurementFailed(f"no answer within {time_limit_s:g} s: {self.guest.console()}")
            time.sleep(POLL_S)
        return value

    def progress(self) -> bytes | None:
        """Returns the progress that the function last reported, as JSON; None before the first report."""
        with contextlib.suppress(FileNotFoundError):
            return (self.guest.shared / PROGRESS).read_bytes()
        return None


@contextlib.contextmanager
def called(
    start: Callable[[Sequence[str]], Guest], function: Callable[..., _Value], request: BaseModel
) -> Iterator[GuestCall[_Value]]:
    """Calls a function in a guest, which ends with the context.

    Args:
        start: makes the guest that runs a command.
        function: takes the request, and perhaps a callback for its progress.
        request: what it is called with.
    """
    returns = Returns.of(function)
    guest = start((*_SAME_ANYWHERE, *python_module("flightpath.calls", name_of(function))))
    write(request, guest.shared, REQUEST)
    with guest:
        yield GuestCall(guest, returns)
