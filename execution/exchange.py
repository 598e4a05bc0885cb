"""What a run and the guest that measures for it exchange: files in the folder that both share."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

import flightpath.errors
from experiments.plan import Plan
from flightpath.errors import FlightpathError, MeasurementFailed
from results.records import CellResult

REQUEST, ANSWER, PROGRESS = "request.json", "answer.json", "progress.json"


class Request(BaseModel):
    """What the guest is asked for: to check a plan, or to measure one of its cells.

    Attributes:
        scenario: its name.
        file: that defines it.
        plan: as JSON.
        order: the number of the cell; None: check the plan.
        shorten: leave out congestion controls that the guest does not have.
        artifacts: the folder for files worth keeping, as the guest sees it.
    """

    scenario: str
    file: Path
    plan: dict[str, Any]
    order: int | None = None
    shorten: bool = False
    artifacts: Path | None = None


class GuestError(BaseModel):
    """An error of the guest: the name of its class, its message and its hint."""

    kind: str
    message: str
    hint: str

    @classmethod
    def of(cls, error: FlightpathError) -> "GuestError":
        """What is told of an error."""
        return cls(kind=type(error).__name__, message=Exception.__str__(error), hint=error.hint)

    def error(self) -> FlightpathError:
        """The same error here."""
        kind = getattr(flightpath.errors, self.kind, None)
        is_ours = isinstance(kind, type) and issubclass(kind, FlightpathError)
        return (kind if is_ours else FlightpathError)(self.message, self.hint)


class Answer(BaseModel):
    """The guest's answer: a plan or a cell's result, as asked for, or an error."""

    plan: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: GuestError | None = None


def answer_with_plan(plan: Plan) -> Answer:
    """The answer to a request without a cell."""
    return Answer(plan=plan.as_json())


def answer_with_result(result: CellResult) -> Answer:
    """The answer to a request for a cell."""
    return Answer(result=_RESULTS.dump_python(result))


def read_answer(content: bytes) -> Answer:
    """Reads the answer of a guest.

    Raises:
        FlightpathError: what the guest reported.
        MeasurementFailed: it is no answer, as the next two.
    """
    with _understood():
        answer = Answer.model_validate_json(content)
    if answer.error is not None:
        raise answer.error.error()
    return answer


def plan_in(answer: Answer) -> Plan:
    """The plan in an answer to a request without a cell."""
    with _understood():
        return Plan.from_json(answer.plan or {})


def result_in(answer: Answer) -> CellResult:
    """The result in an answer to a request for a cell."""
    with _understood():
        return _RESULTS.validate_python(answer.result)


@contextlib.contextmanager
def _understood() -> Iterator[None]:
    try:
        yield
    except ValueError as error:  # pydantic's ValidationError is one
        raise MeasurementFailed(f"the guest's answer cannot be read: {error}") from error


def write(message: BaseModel, folder: Path, name: str) -> None:
    """Writes a message into the shared folder, at once as a whole."""
    part = folder / f"{name}.part"
    part.write_text(message.model_dump_json(), encoding="utf-8")
    part.rename(folder / name)


_RESULTS = TypeAdapter(CellResult)
