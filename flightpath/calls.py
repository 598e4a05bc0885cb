"""Calls of functions in other processes: sends a request, and gets progress and an answer or an error back.

    python -m flightpath.calls MODULE:FUNCTION [-]

calls a function with the request in the folder that both sides share, and writes its answer there. With `-` the
function takes no request, and the answer goes to stdout. Requests, progress and answers are JSON, of the types that the
function's signature names; a FlightpathError is raised again by the caller, with its hint. The caller decides where
the command runs: in a guest, in a confinement, in a process of its own.
"""

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

from pydantic import BaseModel, TypeAdapter

from flightpath import errors
from flightpath.errors import FlightpathError, MeasurementFailed

REQUEST, PROGRESS, ANSWER = "request.json", "progress.json", "answer.json"
"""Files in the folder that both sides share."""

SHARED = "FLIGHTPATH_SHARED"
"""Environment variable in which the far side finds that folder."""

_Value = TypeVar("_Value")


class Failure(BaseModel):
    """A FlightpathError in an answer.

    Attributes:
        kind: name of its class.
        message, hint: its text.
    """

    kind: str
    message: str
    hint: str = ""

    @classmethod
    def of(cls, error: FlightpathError) -> "Failure":
        """Serialises an error."""
        return cls(kind=type(error).__name__, message=Exception.__str__(error), hint=error.hint)

    def error(self) -> FlightpathError:
        """Makes the same error here."""
        kind = getattr(errors, self.kind, None)
        if isinstance(kind, type) and issubclass(kind, FlightpathError):
            return kind(self.message, self.hint)
        return FlightpathError(self.message, self.hint)


class Answer(BaseModel):
    """The value that a function returned, as JSON, or the error that it raised."""

    value: Any = None
    failure: Failure | None = None


class Returns(Generic[_Value]):
    """The type that a function returns, which makes answers and reads them.

    Args:
        kind: the type, for pydantic.
    """

    def __init__(self, kind: type[_Value]) -> None:
        self._adapter: TypeAdapter[_Value] = TypeAdapter(kind)

    @classmethod
    def of(cls, function: Callable[..., _Value]) -> "Returns[_Value]":
        """Takes the type from a function's signature."""
        return _returns(function)

    def answer(self, compute: Callable[[], _Value]) -> Answer:
        """Calls a function, and makes an answer of its return value or its FlightpathError."""
        try:
            return Answer(value=self._adapter.dump_python(compute(), mode="json"))
        except FlightpathError as error:
            return Answer(failure=Failure.of(error))

    def value(self, answer: Answer | bytes) -> _Value:
        """Returns what the function returned.

        Raises:
            FlightpathError: what the function raised.
            MeasurementFailed: the answer is malformed.
        """
        with _well_formed():
            read = Answer.model_validate_json(answer) if isinstance(answer, bytes) else answer
        if read.failure is not None:
            raise read.failure.error()
        with _well_formed():
            return self._adapter.validate_python(read.value)


@functools.cache
def _returns(function: Callable[..., _Value]) -> Returns[_Value]:
    """Makes it once for each function: pydantic swallows a Ctrl-C that comes meanwhile."""
    return Returns(get_type_hints(function)["return"])


@contextlib.contextmanager
def _well_formed() -> Iterator[None]:
    try:
        yield
    except ValueError as error:  # pydantic's ValidationError is one
        raise MeasurementFailed(f"the answer cannot be read: {error}") from error


def write(message: BaseModel, folder: Path, name: str) -> None:
    """Writes a message into a folder, atomically."""
    part = folder / f"{name}.part"
    part.write_text(message.model_dump_json(), encoding="utf-8")
    part.rename(folder / name)


def name_of(function: Callable[..., object]) -> str:
    """Returns the name by which the far side finds a function."""
    return f"{function.__module__}:{function.__qualname__}"


def main(words: Sequence[str]) -> int:
    """Calls a function; the exit code is 0 whenever there is an answer."""
    name, *without_request = words
    module, _, attribute = name.partition(":")
    function = getattr(import_module(module), attribute)
    returns: Returns[Any] = Returns.of(function)
    if without_request:
        sys.stdout.write(returns.answer(function).model_dump_json())
        return 0
    folder = Path(os.environ[SHARED])
    first, *others = signature(function).parameters
    request = TypeAdapter(get_type_hints(function)[first]).validate_json((folder / REQUEST).read_bytes())
    # A function with a second parameter reports its progress.
    arguments = [lambda message: write(message, folder, PROGRESS)] if others else []
    write(returns.answer(lambda: function(request, *arguments)), folder, ANSWER)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
