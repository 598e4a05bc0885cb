"""The figures of a load: without it nobody could tell how long a student waited.

Pure functions and frozen records. Response times are given twice: as service time (from sending the request), and from
the moment at which the request was *intended* to be sent: what a student waits if an earlier response was late (no
coordinated omission: G. Tene, "How NOT to Measure Latency").
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from probes.jmeter.jtl import ERROR_KINDS, Booleans, Integers, Samples
from results.records import Measurement, Metric, Series

_PERCENTILES = (50, 95, 99)
_BIN_MS = 1000


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
