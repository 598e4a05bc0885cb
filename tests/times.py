"""`make test-times`: how long tests took when they last ran, by phase and folder, and those that computed most.

    python -m tests.times [--slowest N]

`make test` keeps the figures in build/test-times/. A test in virtual time has the real seconds in which its kernel
reported it; the processor time of a kernel is that of the last test of its file.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from flightpath.command_line import exit_code_of
from flightpath.errors import UsageError
from flightpath.terminal import plain
from tests.support.running.times import Phase, TestTime, phases


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.times", description=__doc__.partition("\n")[0])
    parser.add_argument("--slowest", type=int, default=50, metavar="N", help="tests to list by name (default 50)")
    options = parser.parse_args()
    if not (kept := phases()):
        raise UsageError("no times are kept yet", "run `make test`")
    tests = {name: test for phase in kept for name, test in phase.tests.items()}
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    for table in (_of_phases(kept), _of_folders(tests), _of_costly(tests, options.slowest)):
        console.print(table)
    return 0


def _of_phases(kept: Iterable[Phase]) -> Table:
    table = _table("phase", "tests", "failed", "skipped", "minutes", "load before, after")
    for phase in kept:
        outcomes = [test.outcome for test in phase.tests.values()]
        counts = (len(outcomes), outcomes.count("failed"), outcomes.count("skipped"))
        before, after = phase.loads
        table.add_row(phase.name, *map(str, counts), f"{phase.seconds / 60:.1f}", f"{before:.1f}, {after:.1f}")
    return table


def _of_folders(tests: dict[str, TestTime]) -> Table:
    folders: dict[str, list[TestTime]] = defaultdict(list)
    for name, test in tests.items():
        parts = name.partition("::")[0].split("/")[:-1]
        folders["/".join(parts[:3])].append(test)
    table = _table("folder", "tests", "seconds", "of processors")
    for folder, found in sorted(folders.items(), key=lambda item: -_processor_s(item[1])):
        table.add_row(
            folder, str(len(found)), f"{sum(test.seconds for test in found):.0f}", f"{_processor_s(found):.0f}"
        )
    return table


def _processor_s(tests: Iterable[TestTime]) -> float:
    return sum(test.processor_s for test in tests)


def _of_costly(tests: dict[str, TestTime], count: int) -> Table:
    table = _table("most processor time", "seconds", "of processors", "outcome")
    for name, test in sorted(tests.items(), key=lambda item: -item[1].processor_s)[:count]:
        times_s = (f"{seconds:.1f}" for seconds in (test.seconds, test.processor_s))
        table.add_row(plain(name.removeprefix("tests/")), *times_s, test.outcome)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first, overflow="fold")
    for other in others:
        table.add_column(other, justify="right")
    return table


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
