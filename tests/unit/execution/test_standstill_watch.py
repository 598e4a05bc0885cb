"""When the virtual-time kernel is ended because its clock stands still."""

import pytest

from execution.uml import inspection
from execution.uml.inspection import StandstillWatch, Task
from flightpath.errors import MeasurementFailed

LIMIT_S = 10.0


class Uml:
    """Stands for a virtual-time kernel: what the watch reads of it, set by the test."""

    def __init__(self) -> None:
        self.real_s = self.computed_s = self.virtual_s = 0.0
        self.task = Task(1, "thread2", "spin", is_idle=False)
        self.virtual_ns = lambda: round(self.virtual_s * 1e9)
        self.running_task = lambda: self.task
        self.processor_s = lambda: {1: 50.0 + self.computed_s / 5, 2: 4 * self.computed_s / 5}
        self.position = {1: "in the kernel", 2: "in its own code"}.__getitem__


@pytest.fixture
def uml(monkeypatch) -> Uml:
    found = Uml()
    monkeypatch.setattr(inspection.time, "monotonic", lambda: found.real_s)
    return found


def pass_time(uml: Uml, watch: StandstillWatch, real_s: float, share: float, virtual_rate: float = 0.0) -> None:
    """Real time, of which the virtual-time kernel gets a share of a processor."""
    for _ in range(round(real_s * 4)):
        uml.real_s, uml.computed_s = uml.real_s + 0.25, uml.computed_s + 0.25 * share
        uml.virtual_s += 0.25 * share * virtual_rate
        watch.check()


def test_a_program_that_computes_for_longer_than_the_limit_is_named(uml):
    said = r"'spin' computed for 10 s \(thread 'thread2', 9 s in its own code, 2 s in the kernel\)"
    with pytest.raises(MeasurementFailed, match=said):
        pass_time(uml, StandstillWatch(uml, LIMIT_S), LIMIT_S + 3, share=1.0)


def test_a_busy_machine_gives_the_kernel_more_time(uml):
    watch = StandstillWatch(uml, LIMIT_S)
    pass_time(uml, watch, 9 * LIMIT_S, share=0.1)
    with pytest.raises(MeasurementFailed):
        pass_time(uml, watch, 3 * LIMIT_S, share=0.1)


def test_a_clock_that_moves_and_a_kernel_without_work_are_left_alone(uml):
    watch = StandstillWatch(uml, LIMIT_S)
    pass_time(uml, watch, 5 * LIMIT_S, share=1.0, virtual_rate=0.2)
    uml.task = Task(0, "swapper", "swapper", is_idle=True)
    pass_time(uml, watch, 5 * LIMIT_S, share=1.0)
