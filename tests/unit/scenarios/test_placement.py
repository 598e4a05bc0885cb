"""Place and clock of a run's cells, as command lines and plans say it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from execution import guest_executors, placement
from execution.executor import LocalExecutor
from execution.guest_executors import UmlExecutor
from execution.placement import PlacementRequest
from execution.uml.kernel import UmlKernel
from experiments import catalogue
from experiments.plan import Plan
from flightpath.clock import Clock
from flightpath.errors import UsageError
from scenarios.command.options import request_from

PLAN = Plan("full", {"load": (500,)}, repeat=5)
LOAD = catalogue.find("mptcp_load")


def request(*words: str) -> PlacementRequest:
    return request_from(LOAD, words).placement


def placed(request: PlacementRequest, plan: Plan = PLAN) -> Plan:
    return placement.with_placement(LOAD, plan, request)


@pytest.mark.parametrize(
    ("words", "executor", "clock", "repeat"),
    [
        ("", "uml", "virtual", 3),  # enough for an interval: nothing but the seed varies
        ("--clock real", "here", "real", 5),
        ("--clock virtual", "uml", "virtual", 3),
        ("--machine lab", "uml", "virtual", 3),  # its name in version 0.1.0
        ("--machine uml --clock real", "uml", "real", 5),
        ("--clock virtual --repeat 2", "uml", "virtual", 2),
    ],
)
def test_a_plan_says_where_and_by_which_clock(monkeypatch, words, executor, clock, repeat):
    monkeypatch.setattr(placement.kernel, "find", lambda: None)
    wanted = request(*words.split())
    plan = placed(wanted, replace(PLAN, repeat=wanted.repeat or PLAN.repeat))
    assert (plan.executor, plan.clock, plan.repeat) == (executor, clock, repeat)
    assert placed(wanted, replace(PLAN, form="quick")).repeat == 5, "an experiment file's own number"


@pytest.mark.parametrize(
    ("words", "message"),
    [("--machine here --clock virtual", "no virtual"), ("--jobs 0", "--jobs"), ("--jobs 2 --clock real", "--jobs")],
)
def test_this_kernel_has_no_virtual_clock_and_on_the_real_one_cells_are_measured_one_by_one(words, message):
    with pytest.raises(UsageError, match=message):
        placed(request(*words.split()))


@pytest.mark.parametrize(
    ("name", "has_kernel", "why"),
    [("mptcp_load", True, ""), ("mptcp_load", False, "virtual-time kernel"), ("vegas_thresholds", True, "processors")],
)
def test_the_clock_is_that_of_the_question_unless_another_is_asked_for(monkeypatch, tmp_path, name, has_kernel, why):
    monkeypatch.setenv("FLIGHTPATH_CACHE", str(tmp_path))
    if has_kernel:
        monkeypatch.setattr(placement.kernel, "find", lambda: None)
    scenario = catalogue.find(name)
    for words in ("", "--clock auto", "--cluster tls://a:1"):
        wanted = request(*words.split())
        assert placement.with_placement(scenario, PLAN, wanted).clock is (Clock.REAL if why else Clock.VIRTUAL)
        stated = placement.why_real(scenario, wanted)
        assert (why in stated) if why else stated is None
    for words in ("--clock real", "--machine here", "--resume x"):
        wanted = request(*words.split())
        assert placement.with_placement(scenario, PLAN, wanted).clock is Clock.REAL
        assert placement.why_real(scenario, wanted) is None


@pytest.mark.parametrize(
    ("words", "clock", "jobs"),
    [("--jobs 2", Clock.VIRTUAL, 2), ("", Clock.VIRTUAL, 4), ("--machine uml --clock real", Clock.REAL, 1)],
)
def test_the_executor_is_that_of_the_plan(monkeypatch, tmp_path, words, clock, jobs):
    monkeypatch.setattr(placement.kernel, "find", lambda: UmlKernel("7.3.4", tmp_path / "linux"))
    monkeypatch.setattr(placement, "max_parallel_kernels", lambda: 4)
    wanted = request(*words.split())
    executor = placement.executor_of(placed(wanted), wanted)
    assert isinstance(executor, UmlExecutor) and (executor.clock, executor.jobs) == (clock, jobs)
    assert isinstance(placement.executor_of(PLAN, request("--clock", "real")), LocalExecutor)


@pytest.mark.parametrize(("available_gib", "cores", "expected"), [(64, 2, 2), (7, 8, 2), (1, 2, 1)])
def test_as_many_kernels_at_once_as_processors_and_memory_allow(monkeypatch, available_gib, cores, expected):
    memory = {"MemTotal": 1 << 50, "MemAvailable": available_gib << 30}
    monkeypatch.setattr(guest_executors, "memory_bytes", lambda: memory)
    monkeypatch.setattr(guest_executors, "os", SimpleNamespace(sched_getaffinity=lambda _: range(cores)))
    assert guest_executors.max_parallel_kernels() == expected


@pytest.mark.parametrize(
    ("settings", "executor", "clock", "scale"),
    [
        ({"machine": "lab", "clock": "virtual", "scale": 0.5}, "uml", Clock.VIRTUAL, 0.5),
        ({"machine": "vm", "clock": "real", "threads": 5}, "vm", Clock.REAL, 1.0),
    ],
)
def test_a_plan_of_version_0_1_0_had_them_as_settings(settings, executor, clock, scale):
    fields = ("form", "axes", "repeat", "seed", "only", "events")
    stored = {name: value for name, value in PLAN.as_json().items() if name in fields}
    plan = Plan.from_json({**stored, "settings": settings})
    assert (plan.executor, plan.clock, plan.scale) == (executor, clock, scale)
    assert plan.settings == {name: value for name, value in settings.items() if name == "threads"}
    assert Plan.from_json(plan.as_json()) == plan
