"""How long tests took: a plugin that keeps it, in real seconds."""

import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pytest import TestReport

from flightpath.project import PROJECT

FOLDER = PROJECT / "build" / "test-times"


@dataclass
class TestTime:
    """One test: real seconds, and its outcome."""

    seconds: float = 0.0
    outcome: str = "passed"


@dataclass
class Phase:
    """One session of pytest: what it was asked for, its length, the machine's load before and after, and its tests."""

    name: str
    began_at: float
    seconds: float
    loads: tuple[float, float]
    tests: dict[str, TestTime] = field(default_factory=dict)


class Keeper:
    """Writes the times of a session to a file of its name, for `make test-times`."""

    def __init__(self, name: str) -> None:
        self._phase = Phase(name, time.time(), 0.0, (os.getloadavg()[0],) * 2)

    def pytest_runtest_logreport(self, report: TestReport) -> None:
        """Adds up the phases of a test."""
        test = self._phase.tests.setdefault(report.nodeid, TestTime())
        test.seconds += report.duration
        if report.outcome != "passed":
            test.outcome = report.outcome

    def pytest_sessionfinish(self) -> None:
        """Writes the file."""
        self._phase.seconds = time.time() - self._phase.began_at
        self._phase.loads = (self._phase.loads[0], os.getloadavg()[0])
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / f"{self._phase.name}.json").write_text(json.dumps(asdict(self._phase)), encoding="utf-8")


def phases(folder: Path = FOLDER) -> list[Phase]:
    """The stored phases, in the order in which they ran."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.json")]
    for phase in found:
        phase["tests"] = {name: TestTime(**test) for name, test in phase["tests"].items()}
    return sorted((Phase(**phase) for phase in found), key=lambda phase: phase.began_at)
