"""Tests marked `virtual` run in the virtual-time kernel, those of one file in one kernel, and are reported here.

On the host this plugin starts a kernel at the first test of a file, and passes on the reports as they come. In the
kernel it writes them. A seeded kernel repeats itself to the last bit, so such a test gives the same each time, beside
anything. `--virtual-seed` draws other random numbers.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from execution.guests.guest import POLL_S
from execution.uml import kernel
from execution.uml.uml import UserModeLinux
from flightpath.calls import SHARED
from flightpath.clock import Clock, clock_here
from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.project import PROJECT

MARK = "virtual"
TIME_LIMIT_S = 1500
"""Limit for one file, on this machine's clock."""

_REPORTS = "reports"
# Without the plugins that no virtual test needs, a kernel begins with its tests a second of processor time earlier.
_OPTIONS = ("-o", "addopts=--import-mode=importlib", "-p", "pytest_timeout", "-p", "no:cacheprovider", "-m", "")


def file_of(item: pytest.Item) -> str:
    return item.path.relative_to(PROJECT).as_posix()


def is_virtual(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARK) is not None


def plugin(config: pytest.Config) -> "Host | Guest":
    """The side of this plugin that belongs to the kernel on which this process runs."""
    return Guest(config) if clock_here() is Clock.VIRTUAL else Host()


class Host:
    """Runs virtual tests in kernels. Without a kernel they are skipped, and say how to get one."""

    def __init__(self) -> None:
        self._runs: dict[str, FileRun] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leaves the timeouts of virtual tests to the kernel, where they count virtual time."""
        virtual = [item for item in items if is_virtual(item)]
        try:
            if virtual:
                kernel.find()
        except FlightpathError as error:
            missing = pytest.mark.skip(reason=str(error).replace("\n", ": "))
            for item in virtual:
                item.add_marker(missing)
        for item in virtual:
            item.add_marker(pytest.mark.timeout(0), append=False)
            if f"pytest.mark.{MARK}" not in item.path.read_text(encoding="utf-8"):
                raise pytest.UsageError(
                    f"{file_of(item)} must name pytest.mark.{MARK} itself: workers look for it there"
                )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Reports a virtual test as its kernel reported it."""
        if not is_virtual(item) or item.get_closest_marker("skip"):
            return None
        if (name := file_of(item)) not in self._runs:
            self._runs[name] = FileRun(
                [each for each in item.session.items if is_virtual(each) and file_of(each) == name]
            )
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._runs[name].reports(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        # The test before may have kept fixtures of a folder for this one.
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def pytest_sessionfinish(self) -> None:
        """Ends the kernels of an interrupted session."""
        for run in self._runs.values():
            run.end()


class FileRun:
    """The tests of one file in one kernel: all that are to run there, in their order."""

    def __init__(self, items: list[pytest.Item]) -> None:
        config = items[0].config
        command = [
            *("env", "PYTHONHASHSEED=0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", sys.executable, "-m", "pytest", *_OPTIONS),
            *(f"{PROJECT}/{item.nodeid}" for item in items),
        ]
        self._config, self._left = config, len(items)
        self._problem: MeasurementFailed | None = None
        self._stack = contextlib.ExitStack()
        self._deadline = time.monotonic() + TIME_LIMIT_S
        self._lines: Iterator[str] = iter(())
        try:
            machine = UserModeLinux(kernel.find(), seed=config.getoption("virtual_seed"))
            self._guest = self._stack.enter_context(machine.guest(command))
            self._lines = self._follow(self._guest.shared / _REPORTS)
        except (FlightpathError, OSError) as error:  # each of the tests fails then, with this reason
            self._problem = MeasurementFailed(f"the kernel cannot start: {error}")

    def reports(self, item: pytest.Item) -> Iterator[pytest.TestReport]:
        """The reports of a test's phases, in real seconds; one that failed if its kernel has none."""
        began_s = time.time()
        try:
            for line in self._lines:
                report = self._config.hook.pytest_report_from_serializable(config=self._config, data=json.loads(line))
                assert report.nodeid == item.nodeid, f"the kernel reports {report.nodeid}"
                report.start, report.stop = began_s, time.time()
                report.duration, began_s = report.stop - began_s, report.stop
                if report.when == "teardown":
                    self._count_test()
                    yield report
                    return
                yield report
            self._problem = self._problem or MeasurementFailed(f"the kernel ended: {self._guest.console()}")
        except MeasurementFailed as error:
            self._problem = error
        self._count_test()
        yield _failed(item, self._problem)

    def _count_test(self) -> None:
        """Ends the kernel after the last test, before its report: a report counts processor time up to its moment."""
        self._left -= 1
        if not self._left:
            self.end()

    def end(self) -> None:
        self._stack.close()

    def _follow(self, file: Path) -> Iterator[str]:
        """The lines of a file that the kernel writes, until the kernel's command has ended."""
        position, rest = 0, ""
        while True:
            has_ended = self._guest.exit_code() is not None
            if file.exists():
                with file.open(encoding="utf-8") as source:
                    source.seek(position)
                    rest += source.read()
                    position = source.tell()
            *lines, rest = rest.split("\n")
            yield from lines
            if has_ended:
                return
            if time.monotonic() > self._deadline:
                raise MeasurementFailed(f"the tests of the file had not ended after {TIME_LIMIT_S} s")
            time.sleep(POLL_S)


class Guest:
    """Writes the reports of tests where the host reads them, if it was the host that started them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._file = Path(os.environ[SHARED]) / _REPORTS if SHARED in os.environ else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._file:
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(data, default=str) + "\n")
                file.flush()
                os.fsync(file.fileno())


def _failed(item: pytest.Item, error: Exception) -> pytest.TestReport:
    report = pytest.TestReport.from_item_and_call(item, pytest.CallInfo.from_call(lambda: None, when="call"))
    report.outcome, report.longrepr = "failed", f"virtual time: {error}"
    return report
