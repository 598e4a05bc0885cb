"""Result files of JMeter, in which responses of a server stand: read into figures, or refused in a sentence."""

import contextlib
import functools
import math
import random
import tempfile
from pathlib import Path

from flightpath.errors import MeasurementFailed
from flightpath.project import PROJECT
from probes.jmeter.jtl import read_jtl
from probes.jmeter.metrics import LoadRun
from tests.fuzz.mutation import vary_text


def made(chance: random.Random) -> bytes:
    """A real file's first lines, with other words."""
    lines = _verbatim()
    some = [lines[0], *chance.sample(lines[1:], chance.randint(0, 12))]
    return vary_text(chance, ["".join(some)]).encode(errors="replace")


def read(data: bytes) -> None:
    """Reads it whole and as one that is still written, and makes figures of it."""
    with tempfile.TemporaryDirectory(prefix="flightpath-fuzz-") as name:
        file = Path(name) / "load.jtl"
        file.write_bytes(data)
        for allow_truncated in (False, True):
            with contextlib.suppress(MeasurementFailed):
                if len(samples := read_jtl(file, allow_truncated=allow_truncated)):
                    measured = LoadRun(samples, threads=2, ramp_s=1.0, pace_s=0.05).measurement()
                    assert all(math.isfinite(metric.value) for metric in measured.metrics.values())
                    assert all(len(one.times_s) <= 24 * 60 * 60 + 1 for one in measured.series.values())


@functools.cache
def _verbatim() -> list[str]:
    file = PROJECT / "tests" / "data" / "jmeter_errors.jtl"
    return [line for line in file.read_text().splitlines(keepends=True) if line.count(",") > 10]
