"""Duration and processor time of tests: plugins that measure and keep them."""

import json
import os
import resource
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest
from pytest import TestReport

from flightpath.project import PROJECT

FOLDER = PROJECT / "build" / "test-times"


@dataclass
class TestTime:
    """One test: real seconds, seconds of processor time with its programs, and its outcome."""

    seconds: float = 0.0
    processor_s: float = 0.0
    outcome: str = "passed"


@dataclass
class Phase:
    """One session of pytest: what it was asked for, its length, the machine's load before and after, and its tests."""

    name: str
    began_at: float
    seconds: float
    loads: tuple[float, float]
    tests: dict[str, TestTime] = field(default_factory=dict)


class ProcessorTime:
    """Adds to each report the processor time of this process and its children since the report before.

    The kernel of a file of virtual tests counts when it has ended: for the last test of the file.
    """

    def __init__(self) -> None:
        self._before = _processor_time_s()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: TestReport) -> None:
        """Notes it, unless the worker that ran the test has done so."""
        if not hasattr(report, "processor_s"):
            now = _processor_time_s()
            report.processor_s, self._before = now - self._before, now


class Keeper:
    """Writes the times of a session to a file of its name, for `make test-times`."""

    def __init__(self, name: str) -> None:
        self._phase = Phase(name, time.time(), 0.0, (os.getloadavg()[0],) * 2)

    def pytest_runtest_logreport(self, report: TestReport) -> None:
        """Adds up the phases of a test."""
        test = self._phase.tests.setdefault(report.nodeid, TestTime())
        test.seconds += report.duration
        test.processor_s += report.processor_s
        if report.outcome != "passed":
            test.outcome = report.outcome

    def pytest_sessionfinish(self) -> None:
        self._phase.seconds = time.time() - self._phase.began_at
        self._phase.loads = (self._phase.loads[0], os.getloadavg()[0])
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / f"{self._phase.name}.json").write_text(json.dumps(asdict(self._phase)), encoding="utf-8")


def _processor_time_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def phases(folder: Path = FOLDER) -> list[Phase]:
    """The stored phases, in the order in which they ran."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.json")]
    for phase in found:
        phase["tests"] = {name: TestTime(**test) for name, test in phase["tests"].items()}
    return sorted((Phase(**phase) for phase in found), key=lambda phase: phase.began_at)
