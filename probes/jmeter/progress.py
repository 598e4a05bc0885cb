"""The progress of a load, from the samples in JMeter's growing result file."""

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

# The beginning of a sample's line in the result file, and its field `success`.
_SAMPLE_BEGIN = re.compile(rb"^1\d{12},", re.MULTILINE)
_SAMPLE_FAILED = re.compile(rb" 1-\d+,false,")


@dataclass(frozen=True)
class LoadProgress:
    """The progress of a load.

    Attributes:
        requests, errors, total: number of finished requests, of failed ones, and of all requests of the load.
        elapsed_s: time since JMeter was started.
        first_at_s: send time of the first of these requests on CLOCK_MONOTONIC; None before one is done.
    """

    requests: int
    errors: int
    total: int
    elapsed_s: float
    first_at_s: float | None = None

    @property
    def fraction(self) -> float:
        return min(1.0, self.requests / self.total)


class ResultFile:
    """Counts the samples in the result file while it grows, reading each line once.

    Attributes:
        first_at_s: the earliest time among the samples that were read first, on CLOCK_MONOTONIC; None before that.
    """

    def __init__(self, path: Path, epoch_offset_s: float) -> None:
        self.first_at_s: float | None = None
        self.path = path
        self._epoch_offset_s = epoch_offset_s
        self._at = self._requests = self._errors = 0

    def count(self) -> tuple[int, int]:
        """Returns how many requests and errors the complete lines hold so far."""
        with contextlib.suppress(FileNotFoundError), self.path.open("rb") as file:
            file.seek(self._at)
            lines, end, _ = file.read().rpartition(b"\n")
            self._at += len(lines) + len(end)
            begins = _SAMPLE_BEGIN.findall(lines)
            if begins and self.first_at_s is None:
                first_ms = min(int(begin.removesuffix(b",")) for begin in begins)
                self.first_at_s = first_ms / 1000 - self._epoch_offset_s
            self._requests += len(begins)
            self._errors += len(_SAMPLE_FAILED.findall(lines))
        return self._requests, self._errors
