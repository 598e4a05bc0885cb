"""Which worker runs which test: as many virtual-time kernels at once as processors, and the other tests beside them.

A kernel computes all the time, and takes one processor. Most other tests wait.
"""

import math
import os
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

from tests.support.running import virtual_tests

STARTS_KERNELS = "starts_kernels"
_KERNEL = "kernel "
"""Beginning of the group of tests that take a processor for a kernel."""


def arrange(items: list[pytest.Item]) -> None:
    """Orders tests, and groups those that take a kernel: the tests of a file that run in one, and each that starts one.

    Tests that take long come first. Otherwise one worker still had some of them when the others had none left.
    """
    items.sort(key=_expected_s, reverse=True)
    for item in items:
        if virtual_tests.is_virtual(item):
            item.add_marker(pytest.mark.xdist_group(_KERNEL + virtual_tests.file_of(item)))
        elif item.get_closest_marker(STARTS_KERNELS):
            item.add_marker(pytest.mark.xdist_group(_KERNEL + item.nodeid.replace("@", " ")))


def _expected_s(item: pytest.Item) -> float:
    if virtual_tests.is_virtual(item):
        return math.inf
    timeout = item.get_closest_marker("timeout")
    return float(timeout.args[0]) if timeout else 0.0


class ByNeed(LoadGroupScheduling):
    """Gives tests with kernels to the first workers, one for each processor, and other tests to the others.

    A worker for kernels that has no more of them takes other tests. A worker for other tests never starts a kernel.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._for_kernels: list[WorkerController] = []

    def add_node(self, node: WorkerController) -> None:
        super().add_node(node)
        if len(self._for_kernels) < len(os.sched_getaffinity(0)):
            self._for_kernels.append(node)

    def remove_node(self, node: WorkerController) -> str | None:
        if node in self._for_kernels:
            self._for_kernels.remove(node)
        return super().remove_node(node)

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
        wanted = node in self._for_kernels
        first: dict[bool, str] = {}
        for scope in self.workqueue:
            first.setdefault(scope.startswith(_KERNEL), scope)
        return first.get(wanted) or (first.get(False) if wanted else None)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadGroupScheduling | None:
    """Chooses the scheduler for `--dist loadgroup`."""
    return ByNeed(config, log) if config.getvalue("dist") == "loadgroup" else None
