"""Where and by which clock a run's cells are measured, as options and plans say it."""

import argparse
from dataclasses import replace
from types import SimpleNamespace

import pytest

from execution import guest_executors as guests
from execution import placement
from execution.executor import LocalExecutor
from execution.guest_executors import UmlExecutor
from execution.uml.kernel import UmlKernel
from experiments import catalogue
from experiments.plan import Plan
from flightpath.clock import Clock
from flightpath.errors import MissingCapability, UsageError
from scenarios.command import runner

PLAN = Plan("quick", {"load": (500,)}, repeat=5)


def options(*words: str) -> argparse.Namespace:
    return runner.parser_of(catalogue.find("mptcp_load")).parse_args(words)


@pytest.mark.parametrize(
    ("words", "machine", "clock", "repeat"),
    [
        ("", "here", "real", 5),
        ("--clock real", "here", "real", 5),
        ("--clock virtual", "lab", "virtual", 3),  # enough for an interval: nothing but the seed varies
        ("--machine lab", "lab", "virtual", 3),
        ("--machine lab --clock real", "lab", "real", 5),
        ("--clock virtual --repeat 2", "lab", "virtual", 2),
    ],
)
def test_a_plan_says_where_and_by_which_clock(words, machine, clock, repeat):
    chosen = options(*words.split())
    plan = placement.placed(replace(PLAN, repeat=chosen.repeat or PLAN.repeat), chosen)
    assert (plan.settings["machine"], plan.settings["clock"], plan.repeat) == (machine, clock, repeat)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--machine here --clock virtual", "--machine here has no virtual clock"),
        ("--jobs 0", "--jobs"),
        ("--jobs 2", "--jobs"),
        ("--jobs 2 --machine lab --clock real", "--jobs"),
    ],
)
def test_this_kernel_has_no_virtual_clock_and_on_the_real_one_cells_are_measured_one_by_one(words, said):
    with pytest.raises(UsageError, match=said):
        placement.placed(PLAN, options(*words.split()))


@pytest.mark.parametrize(
    "words", ["", "--clock auto", "--clock real", "--machine here", "--clock virtual", "--resume x"]
)
def test_the_clock_changes_only_where_nothing_else_was_asked_for(words):
    assert placement.may_change_clock(options(*words.split())) is (words in ("", "--clock auto"))


def test_after_a_failed_trial_the_plan_is_one_for_the_lab():
    plan = placement.in_virtual_time(placement.placed(PLAN, options()), options())
    assert (plan.settings["machine"], plan.settings["clock"], plan.repeat) == ("lab", "virtual", 3)


@pytest.mark.parametrize(
    ("words", "clock", "jobs"),
    [
        ("--clock virtual --jobs 2", Clock.VIRTUAL, 2),
        ("--clock virtual", Clock.VIRTUAL, 4),
        ("--machine lab --clock real", Clock.REAL, 1),
    ],
)
def test_the_machine_is_that_of_the_plan(monkeypatch, tmp_path, words, clock, jobs):
    monkeypatch.setattr(placement.kernel, "find", lambda: UmlKernel("7.3.4", tmp_path / "linux"))
    monkeypatch.setattr(placement, "max_parallel_kernels", lambda: 4)
    asked = options(*words.split())
    machine = placement.machine_of(placement.placed(PLAN, asked), asked)
    assert isinstance(machine, UmlExecutor) and (machine.clock, machine.jobs) == (clock, jobs)
    assert isinstance(placement.machine_of(PLAN, options()), LocalExecutor)  # a plan of version 0.1.0


def test_a_missing_uml_kernel_is_a_missing_capability(monkeypatch, tmp_path):
    monkeypatch.setenv("FLIGHTPATH_CACHE", str(tmp_path))
    plan = placement.placed(PLAN, options("--clock", "virtual"))
    with pytest.raises(MissingCapability):
        placement.machine_of(plan, options())
    assert not placement.has_uml_kernel()


@pytest.mark.parametrize(("available_gib", "cores", "expected"), [(64, 2, 2), (7, 8, 2), (1, 2, 1)])
def test_as_many_labs_at_once_as_processors_and_memory_allow(monkeypatch, available_gib, cores, expected):
    monkeypatch.setattr(guests, "memory_bytes", lambda: {"MemTotal": 1 << 50, "MemAvailable": available_gib << 30})
    monkeypatch.setattr(guests, "os", SimpleNamespace(sched_getaffinity=lambda _: range(cores)))
    assert guests.max_parallel_kernels() == expected
