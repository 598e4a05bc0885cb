"""From JMeter's result file (JTL) to figures: without it a load is a hundred thousand lines of CSV.

Pure functions and frozen records. Response times are given twice: as service time (from sending the request), and from
the moment at which the request was *intended* to be sent: what a student waits if an earlier response was late (no
coordinated omission: G. Tene, "How NOT to Measure Latency").
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from flightpath.errors import MeasurementFailed
from results.records import Measurement, Metric, Series

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
_PERCENTILES = (50, 95, 99)
_BIN_MS = 1000

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


@dataclass(frozen=True)
class LoadRun:
    """A load that was run to its end.

    The schedule's zero is the intended time of the first student's first request, as the plan itself wrote it into the
    result file (its variable `due_ms`); nothing is inferred from when requests were really sent.

    Attributes:
        samples: all requests; at least one.
        threads: how many students there were.
        ramp_s: over how many seconds they arrived.
        pace_s: time between the intended times of a student's requests.
        requests_per_thread: how many requests each made.
        cpu_s: processor time that JMeter took, or None if it was not measured.
        metadata: facts about how it was run (JSON values).
    """

    samples: Samples
    threads: int
    ramp_s: float
    pace_s: float
    requests_per_thread: int = 20
    cpu_s: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def started_at_s(self) -> float:
        """The schedule's zero, in seconds since the epoch."""
        return int(self.samples.due_ms.min()) / 1000

    @property
    def ended_at_s(self) -> float:
        """When the last response was there, in seconds since the epoch."""
        return int(self.samples.ended_ms.max()) / 1000

    @property
    def run_time_s(self) -> float:
        """From the first intended request to the last response."""
        return self.ended_at_s - self.started_at_s

    @property
    def schedule_s(self) -> float:
        """How long the load takes if no response is late: the ramp, and a session that begins at its end."""
        return self.ramp_s + (self.requests_per_thread - 1) * self.pace_s

    def measurement(self) -> Measurement:
        """The figures of this load.

        Metrics:
            requests, errors (counts), `errors_KIND` for each of `ERROR_KINDS`, error_rate (% of requests);
            requests_per_s: requests answered rightly, over the run time;
            run_time, ramp, schedule (s) and run_time_over_schedule (their ratio);
            latency_service_STAT and latency_intended_STAT (ms, over all requests, failed ones too: mean, p50, p95,
            p99, max);
            connect_p95 (ms, of the requests that opened a connection); received and sent (bytes);
            jmeter_lateness_STAT (ms): how much later than it could have JMeter sent requests; JMeter's fault, or the
            machine's, never the network's; cpu_jmeter (s), if known.

        Series, in bins of 1 s: requests_per_s (answered rightly), errors_per_s and latency_service_p95_ms (bins without
        a response are left out) by the time of the response; active_students: have arrived and are not yet done.
        The last bin is as a rule cut short by the end of the load.
        """
        return Measurement(self._metrics(), self._series(), {**self.metadata, "errors": self._error_texts()})

    def acknowledged_saves(self) -> list[tuple[str, int, str]]:
        """(account, question, choice) of every answer that the server said it had saved: none of them may be lost."""
        return list(self.samples.acknowledged)

    def _metrics(self) -> dict[str, Metric]:
        samples = self.samples
        errors = len(samples) - int(samples.ok.sum())
        kinds = Counter(failure.kind for failure in samples.failures)
        opened = samples.connect_ms[opened_connection(samples)]
        return {
            "requests": Metric(len(samples), "1"),
            "requests_per_s": Metric(int(samples.ok.sum()) / max(self.run_time_s, 1e-3), "1/s"),
            "run_time": Metric(self.run_time_s, "s"),
            "ramp": Metric(self.ramp_s, "s"),
            "schedule": Metric(self.schedule_s, "s"),
            "run_time_over_schedule": Metric(self.run_time_s / max(self.schedule_s, 1e-3), "1"),
            "errors": Metric(errors, "1"),
            "error_rate": Metric(100 * errors / len(samples), "%"),
            **{f"errors_{kind}": Metric(kinds[kind], "1") for kind in ERROR_KINDS},
            **_summary("latency_service", samples.elapsed_ms),
            **_summary("latency_intended", samples.ended_ms - samples.due_ms),
            **_summary("jmeter_lateness", lateness_ms(samples)),
            "connect_p95": Metric(float(np.percentile(opened, 95)), "ms"),
            "received": Metric(int(samples.received_bytes.sum()), "B"),
            "sent": Metric(int(samples.sent_bytes.sum()), "B"),
            **({"cpu_jmeter": Metric(self.cpu_s, "s")} if self.cpu_s is not None else {}),
        }

    def _series(self) -> dict[str, Series]:
        samples, zero = self.samples, int(self.samples.due_ms.min())
        # A clock that was set back must not make a bin of the past.
        bins = np.maximum(samples.ended_ms - zero, 0) // _BIN_MS
        count = int(bins.max()) + 1
        times = tuple(float(second) for second in range(count))
        filled = np.unique(bins)
        return {
            "requests_per_s": Series("1/s", times, _floats(np.bincount(bins[samples.ok], minlength=count))),
            "errors_per_s": Series("1/s", times, _floats(np.bincount(bins[~samples.ok], minlength=count))),
            "latency_service_p95_ms": Series(
                "ms", _floats(filled), _floats([np.percentile(part, 95) for part in _by_bin(samples.elapsed_ms, bins)])
            ),
            "active_students": Series("1", times, _floats(active_threads(samples, zero, count))),
        }

    def _error_texts(self) -> dict[str, int]:
        texts = Counter(f"{failure.kind}: {failure.code}: {failure.message}"[:200] for failure in self.samples.failures)
        return dict(texts.most_common(20))


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


def lateness_ms(samples: Samples) -> Integers:
    """By how much each request was sent later than it could have been: its intended time, or the response before it."""
    order = np.lexsort((samples.due_ms, samples.thread))
    thread, ended = samples.thread[order], samples.ended_ms[order]
    possible = samples.due_ms[order].copy()
    follows = thread[1:] == thread[:-1]
    possible[1:] = np.where(follows, np.maximum(possible[1:], ended[:-1]), possible[1:])
    late = np.empty_like(possible)
    late[order] = np.maximum(samples.sent_ms[order] - possible, 0)
    return late


def opened_connection(samples: Samples) -> Booleans:
    """Which requests opened a connection: each thread's first, and those for which JMeter noted a time of connecting.

    JMeter notes 0 ms both for no connecting and for connecting in less than 1 ms, hence the first part.
    """
    order = np.lexsort((samples.due_ms, samples.thread))
    first = np.ones(len(samples), dtype=np.bool_)
    first[order[1:]] = samples.thread[order[1:]] != samples.thread[order[:-1]]
    return first | (samples.connect_ms > 0)


def active_threads(samples: Samples, zero_ms: int, bins: int) -> Integers:
    """For each of so many bins of 1 s from `zero_ms`: threads that had arrived and were not yet done, at some time."""
    _, index = np.unique(samples.thread, return_inverse=True)
    arrived = np.full(index.max() + 1, np.iinfo(np.int64).max)
    done = np.zeros(index.max() + 1, dtype=np.int64)
    np.minimum.at(arrived, index, samples.due_ms)
    np.maximum.at(done, index, samples.ended_ms)
    change = np.zeros(bins + 1, dtype=np.int64)
    np.add.at(change, np.clip((arrived - zero_ms) // _BIN_MS, 0, bins), 1)
    np.add.at(change, np.clip((done - zero_ms) // _BIN_MS + 1, 0, bins), -1)
    return np.cumsum(change)[:bins]


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


def _summary(name: str, values_ms: Integers) -> dict[str, Metric]:
    percentiles = np.percentile(values_ms, _PERCENTILES)
    return {
        f"{name}_mean": Metric(float(values_ms.mean()), "ms"),
        **{f"{name}_p{p}": Metric(float(v), "ms") for p, v in zip(_PERCENTILES, percentiles, strict=True)},
        f"{name}_max": Metric(float(values_ms.max()), "ms"),
    }


def _by_bin(values: Integers, bins: Integers) -> list[Integers]:
    """The values of each bin that has any, in the order of the bins."""
    order = np.argsort(bins, kind="stable")
    _, starts = np.unique(bins[order], return_index=True)
    return np.split(values[order], starts[1:])


def _floats(values: npt.ArrayLike) -> tuple[float, ...]:
    return tuple(float(value) for value in np.asarray(values))
