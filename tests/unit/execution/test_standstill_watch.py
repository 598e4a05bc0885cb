"""When a lab is ended because its clock stands still."""

import pytest

from execution.uml import inspection
from execution.uml.inspection import StandstillWatch, Task
from flightpath.errors import MeasurementFailed

LIMIT_S = 10.0


class Lab:
    """What the watch reads of a lab; the test sets it."""

    def __init__(self) -> None:
        self.real_s = self.computed_s = self.virtual_s = 0.0
        self.task = Task(1, "spin", is_idle=False)
        self.virtual_ns = lambda: round(self.virtual_s * 1e9)
        self.running_task = lambda: self.task
        self.processor_s = lambda: self.computed_s


@pytest.fixture
def lab(monkeypatch) -> Lab:
    found = Lab()
    monkeypatch.setattr(inspection.time, "monotonic", lambda: found.real_s)
    return found


def pass_time(lab: Lab, watch: StandstillWatch, real_s: float, share: float, virtual_rate: float = 0.0) -> None:
    """Real time, of which the lab gets a share of a processor."""
    for _ in range(round(real_s * 4)):
        lab.real_s, lab.computed_s = lab.real_s + 0.25, lab.computed_s + 0.25 * share
        lab.virtual_s += 0.25 * share * virtual_rate
        watch.check()


def test_a_program_that_computes_for_longer_than_the_limit_is_named(lab):
    with pytest.raises(MeasurementFailed, match="'spin' computed for 10 s"):
        pass_time(lab, StandstillWatch(lab, LIMIT_S), LIMIT_S + 3, share=1.0)


def test_a_busy_machine_gives_the_lab_more_time(lab):
    watch = StandstillWatch(lab, LIMIT_S)
    pass_time(lab, watch, 9 * LIMIT_S, share=0.1)
    with pytest.raises(MeasurementFailed):
        pass_time(lab, watch, 3 * LIMIT_S, share=0.1)


def test_a_clock_that_moves_and_a_lab_without_work_are_left_alone(lab):
    watch = StandstillWatch(lab, LIMIT_S)
    pass_time(lab, watch, 5 * LIMIT_S, share=1.0, virtual_rate=0.2)
    lab.task = Task(0, "swapper", is_idle=True)
    pass_time(lab, watch, 5 * LIMIT_S, share=1.0)
