"""Traces: varying rates recorded from real networks, in mahimahi's packet-delivery format."""

from dataclasses import dataclass
from pathlib import Path

from flightpath.errors import UsageError

OPPORTUNITY_BYTES = 1514
_MAX_PERIOD_MS = 7 * 24 * 60 * 60 * 1000
"""Longest period that the relay accepts (`native/relay/spec/trace.c`)."""


@dataclass(frozen=True)
class Trace:
    """A checked trace.

    Attributes:
        path: the file, absolute.
        opportunities: number of packets of OPPORTUNITY_BYTES that may leave in one period.
        period_ms: time on the last line, after which the trace repeats.
    """

    path: Path
    opportunities: int
    period_ms: int

    @property
    def mean_bps(self) -> float:
        return self.opportunities * OPPORTUNITY_BYTES * 8e3 / self.period_ms


def read_trace(path: Path) -> Trace:
    """Reads a trace in the format of mahimahi's mm-link (Netravali et al., USENIX ATC 2015).

    Each line is a whole number of milliseconds since the start, not smaller than the one before; the last is above 0.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"trace: cannot read {path}: {error}") from error
    before = 0
    for number, line in enumerate(lines, start=1):
        if not (line.isascii() and line.isdecimal() and len(line) <= 20 and int(line) <= _MAX_PERIOD_MS):
            form = f"a whole number of milliseconds up to {_MAX_PERIOD_MS}"
            raise UsageError(f"trace: {path}, line {number}: {line[:40]!r} is not {form}")
        if int(line) < before:
            raise UsageError(f"trace: {path}, line {number}: {line} comes after {before}, but times must not decrease")
        before = int(line)
    if before == 0:
        raise UsageError(f"trace: {path} lasts 0 ms", "its last line must be above 0")
    return Trace(path.absolute(), len(lines), before)
