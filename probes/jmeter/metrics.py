"""Metrics of a load by JMeter.

Response times are given twice: as service time, from sending the request, and from the moment at which the request was
*intended* to be sent. The second is what a student waits if an earlier response was late, without coordinated omission
(G. Tene, "How NOT to Measure Latency").
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from probes.jmeter.jtl import Booleans, ErrorKind, Integers, Samples
from results.records import Measurement, Metric, Series

_PERCENTILES = (50, 95, 99)
_BIN_MS = 1000
_MAX_BINS = 24 * 60 * 60
"""Maximum number of bins, a day: the time of day was set during a load that seems longer."""


@dataclass(frozen=True)
class LoadRun:
    """A load that has ended.

    It begins at the intended time of the first request, which the plan itself writes into the result file (its variable
    `due_ms`), whenever that request was really sent.

    Attributes:
        samples: all requests; at least one.
        threads: number of students.
        ramp_s: over how many seconds they arrived.
        pace_s: time between the intended times of a student's requests.
        cpu_s: processor time of JMeter; None if it was not measured.
        epoch_offset_s: `flightpath.clock.epoch_offset_s()` before the load, for JMeter's times are those of day.
        metadata: facts about the run (JSON values).
    """

    samples: Samples
    threads: int
    ramp_s: float
    pace_s: float
    requests_per_thread: int = 20
    cpu_s: float | None = None
    epoch_offset_s: float = 0.0
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def started_at_s(self) -> float:
        return int(self.samples.due_ms.min()) / 1000 - self.epoch_offset_s

    @property
    def ended_at_s(self) -> float:
        return int(self.samples.ended_ms.max()) / 1000 - self.epoch_offset_s

    @property
    def run_time_s(self) -> float:
        """Time from the first intended request to the last response."""
        return int(self.samples.ended_ms.max() - self.samples.due_ms.min()) / 1000

    @property
    def schedule_s(self) -> float:
        """Duration of the load if no response is late: the ramp, and the last student's session."""
        return self.ramp_s * (self.threads - 1) / self.threads + (self.requests_per_thread - 1) * self.pace_s

    def measurement(self) -> Measurement:
        """Returns the metrics (`results.metrics` explains them) and series of the load.

        Latencies are those of all requests, also failed ones. The series have bins of 1 s, by the time of the response:
        requests_per_s (correct responses), errors_per_s, and latency_service_p95_ms (without bins that have no
        response); active_students are those who have arrived and are not done. As a rule the end of the load cuts the
        last bin short.
        """
        return Measurement(self._metrics(), self._series(), {**self.metadata, "errors": self._error_texts()})

    def acknowledged_saves(self) -> list[tuple[str, int, str]]:
        """Returns (account, question, choice) of every answer that was confirmed as saved; none may be lost."""
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
            **{f"errors_{kind}": Metric(kinds[kind], "1") for kind in ErrorKind},
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
        # If the clock is set back, no bin may lie before the first; if it is set forward, there may not be millions.
        bins = np.clip((samples.ended_ms - zero) // _BIN_MS, 0, _MAX_BINS)
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


def lateness_ms(samples: Samples) -> Integers:
    """Returns the delay of each request after its intended time and the response before it."""
    order = np.lexsort((samples.due_ms, samples.thread))
    thread, ended = samples.thread[order], samples.ended_ms[order]
    possible = samples.due_ms[order].copy()
    follows = thread[1:] == thread[:-1]
    possible[1:] = np.where(follows, np.maximum(possible[1:], ended[:-1]), possible[1:])
    late = np.empty_like(possible)
    late[order] = np.maximum(samples.sent_ms[order] - possible, 0)
    return late


def opened_connection(samples: Samples) -> Booleans:
    """Returns which requests opened a connection: the first of each thread, and those with a connect time.

    JMeter records 0 ms both for an open connection and for one that took less than 1 ms to open, hence the first part.
    """
    order = np.lexsort((samples.due_ms, samples.thread))
    first = np.ones(len(samples), dtype=np.bool_)
    first[order[1:]] = samples.thread[order[1:]] != samples.thread[order[:-1]]
    return first | (samples.connect_ms > 0)


def active_threads(samples: Samples, zero_ms: int, bins: int) -> Integers:
    """Returns how many threads were active in each bin of 1 s from `zero_ms`: had arrived, and were not done."""
    _, index = np.unique(samples.thread, return_inverse=True)
    arrived = np.full(index.max() + 1, np.iinfo(np.int64).max)
    done = np.zeros(index.max() + 1, dtype=np.int64)
    np.minimum.at(arrived, index, samples.due_ms)
    np.maximum.at(done, index, samples.ended_ms)
    change = np.zeros(bins + 1, dtype=np.int64)
    np.add.at(change, np.clip((arrived - zero_ms) // _BIN_MS, 0, bins), 1)
    np.add.at(change, np.clip((done - zero_ms) // _BIN_MS + 1, 0, bins), -1)
    return np.cumsum(change)[:bins]


def _summary(name: str, values_ms: Integers) -> dict[str, Metric]:
    percentiles = np.percentile(values_ms, _PERCENTILES)
    return {
        f"{name}_mean": Metric(float(values_ms.mean()), "ms"),
        **{f"{name}_p{p}": Metric(float(v), "ms") for p, v in zip(_PERCENTILES, percentiles, strict=True)},
        f"{name}_max": Metric(float(values_ms.max()), "ms"),
    }


def _by_bin(values: Integers, bins: Integers) -> list[Integers]:
    """Returns the values of each bin that has any, in order."""
    order = np.argsort(bins, kind="stable")
    _, starts = np.unique(bins[order], return_index=True)
    return np.split(values[order], starts[1:])


def _floats(values: npt.ArrayLike) -> tuple[float, ...]:
    return tuple(float(value) for value in np.asarray(values))
