"""Schedule of tests: as many virtual-time kernels at once as processors, and the other tests beside them.

A kernel computes all the time, and takes one processor. Most other tests wait.
"""

import functools
import math
import os
from collections import Counter
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from flightpath.project import PROJECT
from tests.support.running import times, virtual_tests

STARTS_KERNELS, TOGETHER = "starts_kernels", "together"


def sort(items: list[pytest.Item]) -> None:
    """Puts first what took long when it last ran, or may. Otherwise one worker still had some when others had none."""
    took = {name: test.seconds for phase in times.phases() for name, test in phase.tests.items()}
    took_s: Counter[str] = Counter()
    for item in items:
        took_s[_unit_of(item.nodeid)] += took.get(item.nodeid, 0.0)
    items.sort(key=lambda item: took_s[_unit_of(item.nodeid)] or _expected_s(item), reverse=True)


def _expected_s(item: pytest.Item) -> float:
    if virtual_tests.is_virtual(item):
        return math.inf
    timeout = item.get_closest_marker("timeout")
    return float(timeout.args[0]) if timeout else 0.0


def _unit_of(nodeid: str) -> str:
    """Unit that one worker runs as a whole: the file of a test, or the test."""
    file = nodeid.partition("::")[0]
    return file if any(_has_mark(file, mark) for mark in (virtual_tests.MARK, TOGETHER)) else nodeid


@functools.cache
def _has_mark(file: str, mark: str) -> bool:
    """Whether a test file names a mark. The process that hands out tests has collected none of them."""
    return f"pytest.mark.{mark}" in (PROJECT / file).read_text(encoding="utf-8")


def _starts_kernel(scope: str) -> bool:
    file = scope.partition("::")[0]
    return _has_mark(file, virtual_tests.MARK) or _has_mark(file, STARTS_KERNELS)


class ByNeed(LoadScopeScheduling):
    """Gives tests with kernels to the first workers, one for each processor, and other tests to the others.

    A worker for kernels that has no more of them takes other tests. A worker for other tests never starts a kernel.
    Tests of a file with virtual tests, or with tests that belong together, go to one worker.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _unit_of(nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        if self.workqueue and self._next_for(node) is None and not node.shutting_down:
            node.shutdown()
        else:
            super()._reschedule(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if (scope := self._next_for(node)) is not None:
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    def _next_for(self, node: WorkerController) -> str | None:
        """The next unit of work for a worker; None if there is none that it may take."""
        is_for_kernels = node in self.nodes[: len(os.sched_getaffinity(0))]
        fitting = (scope for scope in self.workqueue if _starts_kernel(scope) == is_for_kernels)
        return next(fitting, next(iter(self.workqueue), None) if is_for_kernels else None)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return ByNeed(config, log)
