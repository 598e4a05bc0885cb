"""Parser for JMeter's result files (JTL, as CSV)."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from flightpath.errors import MeasurementFailed

SAVE_LABEL = "save answer"


class ErrorKind(StrEnum):
    """Reason for the failure of a request."""

    CONNECT_TIMEOUT = "connect_timeout"
    RESPONSE_TIMEOUT = "response_timeout"
    REFUSED = "connection_refused"
    RESET = "connection_reset"
    CLOSED = "connection_closed"
    UNREACHABLE = "unreachable"
    HTTP_STATUS = "http_status"
    WRONG_CONTENT = "wrong_content"
    OTHER = "other"


_NUMBERS = ("timeStamp", "elapsed", "bytes", "sentBytes", "Connect", "due_ms")
_TEXTS = ("label", "responseCode", "responseMessage", "threadName", "success", "failureMessage")
_VARIABLES = ("account", "question", "choice")
_EXCEPTION = re.compile(r"Non HTTP response code: (?:\S+\.)?(\w+)")
_KIND_OF_EXCEPTION = {
    "ConnectTimeoutException": ErrorKind.CONNECT_TIMEOUT,
    "SocketTimeoutException": ErrorKind.RESPONSE_TIMEOUT,
    "SocketException": ErrorKind.RESET,
    "NoHttpResponseException": ErrorKind.CLOSED,
    "ConnectionClosedException": ErrorKind.CLOSED,
    "TruncatedChunkException": ErrorKind.CLOSED,
    "MalformedChunkCodingException": ErrorKind.CLOSED,
    "NoRouteToHostException": ErrorKind.UNREACHABLE,
}

ENGINE_THREADS = 2**20
"""Offset between engines' thread numbers; exceeds any engine's thread count."""

_LARGEST = 2**52
"""Bound of times in ms; sums of some thousand do not overflow."""

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Failure:
    """A request that failed: the index of its sample, the reason, and JMeter's code and message for it."""

    index: int
    kind: ErrorKind
    code: str
    message: str


@dataclass(frozen=True)
class Samples:
    """The requests of a load, in the order of the file; all arrays have one element per request.

    Attributes:
        sent_ms: send time of the request, in ms since the epoch.
        elapsed_ms: time from then until the response was complete, or the request failed.
        due_ms: intended send time, in ms since the epoch.
        connect_ms: part of `elapsed_ms` that opened the connection; 0 if it was open.
        thread: number of the student's thread, from 1; those of further engines from `ENGINE_THREADS`.
        ok: whether the response was correct.
        received_bytes, sent_bytes: headers and body of the response (0 without one), and of the request.
        acknowledged: (account, question, choice) of every answer that the server confirmed as saved.
    """

    sent_ms: Integers
    elapsed_ms: Integers
    due_ms: Integers
    connect_ms: Integers
    thread: Integers
    ok: Booleans
    received_bytes: Integers
    sent_bytes: Integers
    failures: tuple[Failure, ...] = ()
    acknowledged: tuple[tuple[str, int, str], ...] = ()

    def __len__(self) -> int:
        return len(self.sent_ms)

    @property
    def ended_ms(self) -> Integers:
        """End time of each response, or of the failure of its request, in ms since the epoch."""
        return self.sent_ms + self.elapsed_ms


def read_jtl(path: Path, *, allow_truncated: bool = False) -> Samples:
    """Reads a result file; if it may be truncated, without an incomplete last line, as that of a running JMeter has."""
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise MeasurementFailed(f"JMeter's result file cannot be read: {error}") from error
    try:
        return parse_jtl(text, allow_truncated=allow_truncated)
    except MeasurementFailed as error:
        raise MeasurementFailed(f"{path}: {error}") from error


def parse_jtl(text: str, *, allow_truncated: bool = False) -> Samples:
    """Parses the text of a result file; see `read_jtl`."""
    rows = _rows(text, allow_truncated)
    if not rows:
        raise MeasurementFailed("the result file is empty")
    fields = (*_NUMBERS, *_TEXTS, *_VARIABLES)
    missing = [name for name in fields if name not in rows[0]]
    if missing:
        raise MeasurementFailed(f"the first line of the result file does not name {', '.join(missing)}")
    samples = [row for row in rows[1:] if row]
    for number, row in enumerate(samples, start=1):
        if len(row) != len(rows[0]):
            raise MeasurementFailed(f"sample {number} of the result file has {len(row)} fields: {','.join(row)[:200]}")
    positions = {name: rows[0].index(name) for name in fields}
    return _samples({name: [row[position] for row in samples] for name, position in positions.items()})


def error_kind(code: str, message: str) -> ErrorKind:
    """Returns why a request failed, by its responseCode (HTTP status, or exception's name) and responseMessage."""
    exception = _EXCEPTION.match(code)
    if exception is None:
        if code == "200":
            return ErrorKind.WRONG_CONTENT
        return ErrorKind.HTTP_STATUS if code.isdigit() else ErrorKind.OTHER
    if exception[1] not in ("HttpHostConnectException", "ConnectException"):
        return _KIND_OF_EXCEPTION.get(exception[1], ErrorKind.OTHER)
    if "refused" in message:
        return ErrorKind.REFUSED
    if "timed out" in message:
        return ErrorKind.CONNECT_TIMEOUT
    return ErrorKind.UNREACHABLE if "unreachable" in message or "No route" in message else ErrorKind.OTHER


def _rows(text: str, allow_truncated: bool) -> list[list[str]]:
    """Returns the lines of the file as fields, without an incomplete last one if that is allowed."""
    complete = text
    # An incomplete line has no end, or quotation marks that are still open; it may hold line ends itself.
    while complete and (not complete.endswith("\n") or complete.count('"') % 2):
        complete = complete[: complete.rfind("\n", 0, -1) + 1]
    if complete != text and not allow_truncated:
        raise MeasurementFailed("the result file is cut off in its last line")
    try:
        return list(csv.reader(io.StringIO(complete, newline=""), strict=True))
    except csv.Error as error:
        raise MeasurementFailed(f"the result file is damaged: {error}") from error


def _samples(columns: Mapping[str, Sequence[str]]) -> Samples:
    numbers = {name: _numbers(name, columns[name]) for name in _NUMBERS}
    ok = np.array([text == "true" for text in columns["success"]], dtype=np.bool_)
    # Without a response JMeter counts the bytes of Java's stack trace.
    answered = np.array([code.isdigit() for code in columns["responseCode"]], dtype=np.bool_)
    return Samples(
        sent_ms=numbers["timeStamp"],
        elapsed_ms=numbers["elapsed"],
        due_ms=numbers["due_ms"],
        connect_ms=numbers["Connect"],
        thread=_threads(columns["threadName"]),
        ok=ok,
        received_bytes=np.where(answered, numbers["bytes"], 0),
        sent_bytes=numbers["sentBytes"],
        failures=tuple(_failures(columns, ok)),
        acknowledged=tuple(_acknowledged(columns, ok)),
    )


def _threads(names: Sequence[str]) -> Integers:
    """Returns the numbers of threads: `students 1-17` is 17; several engines have their addresses before it."""
    groups = {group: number for number, group in enumerate(sorted({name.rpartition("-")[0] for name in names}))}
    numbers = _numbers("threadName", [name.rpartition("-")[2] for name in names])
    return numbers + ENGINE_THREADS * np.array([groups[name.rpartition("-")[0]] for name in names], dtype=np.int64)


def _failures(columns: Mapping[str, Sequence[str]], ok: Booleans) -> Iterator[Failure]:
    for index in np.flatnonzero(~ok).tolist():
        code, message = columns["responseCode"][index], columns["responseMessage"][index]
        kind = error_kind(code, message)
        reason = columns["failureMessage"][index] if kind is ErrorKind.WRONG_CONTENT else message
        yield Failure(index, kind, code, reason)


def _acknowledged(columns: Mapping[str, Sequence[str]], ok: Booleans) -> Iterator[tuple[str, int, str]]:
    for index in np.flatnonzero(ok).tolist():
        if columns["label"][index] == SAVE_LABEL:
            question = columns["question"][index]
            if not (question.isascii() and question.isdecimal() and len(question) < 10):
                raise MeasurementFailed(
                    f"sample {index + 1} of the result file saves an answer to question {question[:40]!r}"
                )
            yield columns["account"][index], int(question), columns["choice"][index]


def _numbers(name: str, texts: Sequence[str]) -> Integers:
    try:
        numbers = [int(text) for text in texts]
    except ValueError as error:
        raise MeasurementFailed(f"the column {name} of the result file does not hold numbers only: {error}") from error
    if outside := next((number for number in numbers if abs(number) > _LARGEST), None):
        raise MeasurementFailed(f"the column {name} of the result file holds {str(outside)[:40]}, which is impossible")
    return np.array(numbers, dtype=np.int64)
