"""JMeter's result file (JTL) as arrays: without it a load is a hundred thousand lines of CSV."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from flightpath.errors import MeasurementFailed

SAVE_LABEL = "save answer"
CONNECT_TIMEOUT = "connect_timeout"
RESPONSE_TIMEOUT = "response_timeout"
REFUSED = "connection_refused"
RESET = "connection_reset"
CLOSED = "connection_closed"
UNREACHABLE = "unreachable"
HTTP_STATUS = "http_status"
WRONG_CONTENT = "wrong_content"
OTHER = "other"
ERROR_KINDS = (
    CONNECT_TIMEOUT,
    RESPONSE_TIMEOUT,
    REFUSED,
    RESET,
    CLOSED,
    UNREACHABLE,
    HTTP_STATUS,
    WRONG_CONTENT,
    OTHER,
)

_FIELDS = (
    "timeStamp",
    "elapsed",
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "success",
    "failureMessage",
    "bytes",
    "sentBytes",
    "Connect",
    "account",
    "question",
    "choice",
    "due_ms",
)
_NUMBERS = ("timeStamp", "elapsed", "bytes", "sentBytes", "Connect", "due_ms")
_EXCEPTION = re.compile(r"Non HTTP response code: (?:\S+\.)?(\w+)")
_KIND_OF_EXCEPTION = {
    "ConnectTimeoutException": CONNECT_TIMEOUT,
    "SocketTimeoutException": RESPONSE_TIMEOUT,
    "SocketException": RESET,
    "NoHttpResponseException": CLOSED,
    "ConnectionClosedException": CLOSED,
    "TruncatedChunkException": CLOSED,
    "MalformedChunkCodingException": CLOSED,
    "NoRouteToHostException": UNREACHABLE,
}

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Failure:
    """A request that failed: which sample it is, what became of it, and JMeter's words for that."""

    index: int
    kind: str
    code: str
    message: str


@dataclass(frozen=True)
class Samples:
    """The requests of a load, in the order of the file; all arrays have one element per request.

    Attributes:
        sent_ms: when the request was sent, in ms since the epoch.
        elapsed_ms: until its response was there, or it failed.
        due_ms: when it was intended to be sent, in ms since the epoch.
        connect_ms: of that time, what opening the connection took; 0 on a connection that was open.
        thread: number of the student's thread, from 1.
        ok: whether the response was the right one.
        received_bytes: headers and body of the response; 0 without one.
        sent_bytes: headers and body of the request.
        failures: one record for each request that failed.
        acknowledged: (account, question, choice) of every answer that the server said it had saved.
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
        """When each response was there, or the request failed, in ms since the epoch."""
        return self.sent_ms + self.elapsed_ms


def read_jtl(path: Path, *, allow_truncated: bool = False) -> Samples:
    """Reads a result file of JMeter's (CSV).

    Args:
        path: the file.
        allow_truncated: leave out a last line that is cut off, as in the file of a running or killed JMeter.

    Raises:
        MeasurementFailed: it is missing, not such a file, has a field that cannot be read, or is cut off.
    """
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise MeasurementFailed(f"JMeter's result file cannot be read: {error}") from error
    try:
        return parse_jtl(text, allow_truncated=allow_truncated)
    except MeasurementFailed as error:
        raise MeasurementFailed(f"{path}: {error}") from error


def parse_jtl(text: str, *, allow_truncated: bool = False) -> Samples:
    """As `read_jtl`, from text."""
    rows = list(_rows(text, allow_truncated))
    if not rows:
        raise MeasurementFailed("the result file is empty")
    missing = [name for name in _FIELDS if name not in rows[0]]
    if missing:
        raise MeasurementFailed(f"the result file's first line does not name {', '.join(missing)}")
    column = {name: rows[0].index(name) for name in _FIELDS}
    samples = [row for row in rows[1:] if row]
    for number, row in enumerate(samples, start=1):
        if len(row) != len(rows[0]):
            raise MeasurementFailed(f"sample {number} of the result file has {len(row)} fields: {','.join(row)[:200]}")
    return _samples({name: [row[index] for row in samples] for name, index in column.items()})


def error_kind(code: str, message: str) -> str:
    """What kind of error a failed request is: one of `ERROR_KINDS`.

    Args:
        code: JMeter's responseCode: an HTTP status, or the name of an exception.
        message: JMeter's responseMessage.
    """
    exception = _EXCEPTION.match(code)
    if exception is None:
        return WRONG_CONTENT if code == "200" else HTTP_STATUS if code.isdigit() else OTHER
    name = exception[1]
    if name in ("HttpHostConnectException", "ConnectException"):
        return _failed_connect(message)
    return _KIND_OF_EXCEPTION.get(name, OTHER)


def _rows(text: str, allow_truncated: bool) -> Iterator[list[str]]:
    """The file's lines as fields, without a last one that is cut off (if that is allowed)."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    complete = text.endswith("\n")
    previous: list[str] | None = None
    try:
        for row in reader:
            if previous is not None:
                yield previous
            previous = row
    except csv.Error as error:
        # An open quotation mark at the end of the file.
        if not allow_truncated or "unexpected end of data" not in str(error):
            raise MeasurementFailed(
                f"the result file is cut off or damaged at line {reader.line_num}: {error}"
            ) from error
        complete = False
        if previous is not None:
            yield previous
        return
    if complete and previous is not None:
        yield previous
    elif not complete and not allow_truncated and text:
        raise MeasurementFailed("the result file is cut off in its last line")


def _samples(columns: Mapping[str, Sequence[str]]) -> Samples:
    numbers = {name: _numbers(name, columns[name]) for name in _NUMBERS}
    ok = np.array([text == "true" for text in columns["success"]], dtype=np.bool_)
    # Where no response came, JMeter counts the bytes of Java's stack trace.
    answered = np.array([code.isdigit() for code in columns["responseCode"]], dtype=np.bool_)
    return Samples(
        sent_ms=numbers["timeStamp"],
        elapsed_ms=numbers["elapsed"],
        due_ms=numbers["due_ms"],
        connect_ms=numbers["Connect"],
        thread=_numbers("threadName", [name.rpartition("-")[2] for name in columns["threadName"]]),
        ok=ok,
        received_bytes=np.where(answered, numbers["bytes"], 0),
        sent_bytes=numbers["sentBytes"],
        failures=tuple(_failures(columns, ok)),
        acknowledged=tuple(_acknowledged(columns, ok)),
    )


def _failures(columns: Mapping[str, Sequence[str]], ok: Booleans) -> Iterator[Failure]:
    for index in np.flatnonzero(~ok).tolist():
        code, message = columns["responseCode"][index], columns["responseMessage"][index]
        kind = error_kind(code, message)
        said = columns["failureMessage"][index] if kind == WRONG_CONTENT else message
        yield Failure(index, kind, code, said)


def _acknowledged(columns: Mapping[str, Sequence[str]], ok: Booleans) -> Iterator[tuple[str, int, str]]:
    for index in np.flatnonzero(ok).tolist():
        if columns["label"][index] == SAVE_LABEL:
            question = columns["question"][index]
            if not question.isdigit():
                raise MeasurementFailed(
                    f"sample {index + 1} of the result file saves an answer to question {question!r}"
                )
            yield columns["account"][index], int(question), columns["choice"][index]


def _failed_connect(message: str) -> str:
    if "refused" in message:
        return REFUSED
    if "timed out" in message:
        return CONNECT_TIMEOUT
    return UNREACHABLE if "unreachable" in message or "No route" in message else OTHER


def _numbers(name: str, texts: Sequence[str]) -> Integers:
    try:
        return np.array([int(text) for text in texts], dtype=np.int64)
    except ValueError as error:
        raise MeasurementFailed(f"the result file's column {name} has something else than numbers: {error}") from error
