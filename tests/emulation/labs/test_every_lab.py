"""Every lab: its solution passes, and the empty and wrong ones fail with their hints, in several variants.

In the first ring a kernel tries the solution and one mistake of every fourth lab. Every night the solution of each is
tried in two variants, and each mistake in one of them; `make test-labs` tries all in five.
"""

import json
import os
from pathlib import Path

import pytest

from labs.framework import catalogue, experiments
from labs.framework.checking import check, judged
from labs.framework.lab import Lab, Variant
from labs.solutions.attempt import Attempt
from tests.support.handed_in import attempts, hand_in

EVERYTHING = "LAB_TESTS" in os.environ
VARIANTS = 5 if EVERYTHING else 2


def variant(number: int) -> Variant:
    """One student's."""
    return Variant(f"student {number}")


def experiment(lab: Lab, attempt: Attempt) -> str:
    """Settings on which an experiment depends: attempts that differ in nothing else need only one."""
    return json.dumps([lab.number, attempt.files, dict(lab.tried(attempt.answers))], sort_keys=True)


def try_out(number: int, chosen: dict[Lab, dict[str, Attempt]], folder: Path) -> None:
    """Tries attempts of one variant in one kernel, by lab and name, and checks how they are judged."""
    tried = [(lab, name, attempt) for lab, attempts_ in chosen.items() for name, attempt in attempts_.items()]
    handed_in = [
        hand_in(lab, variant(number), attempt, folder / f"{lab.number} {name}") for lab, name, attempt in tried
    ]
    same = [experiment(lab, attempt) for lab, _, attempt in tried]
    of_each = dict(zip(same, handed_in, strict=True))
    measured = dict(zip(of_each, experiments.measure(list(of_each.values())), strict=True))
    results = [judged(submission, measured[key]) for submission, key in zip(handed_in, same, strict=True)]
    points = {lab: result.of for (lab, name, _), result in zip(tried, results, strict=True) if name == "solution"}
    for (lab, name, attempt), result in zip(tried, results, strict=True):
        hints = [finding.hint for finding in result.findings if not finding.passed]
        about = (catalogue.short_name(lab), name, hints, result.measured)
        assert result.is_judged and result.passed == (name == "solution"), about
        assert result.passed or any(attempt.hint in text for text in [*hints, result.measured.failure]), about
        assert result.of == points[lab], about
        assert result.points == 0 or name != "empty", about


@pytest.mark.starts_kernels
@pytest.mark.timeout(900)
def test_each_lab_s_solution_passes_and_a_mistake_gets_its_hint(tmp_path):
    """Every fourth lab; the mistake is one that the solution's own measurement shows, if there is one."""
    chosen = {}
    for lab in catalogue.all_labs()[1::4]:
        every = attempts(lab, variant(0))
        solution = every.pop("solution")
        del every["empty"]
        wrong = min(every.values(), key=lambda each: experiment(lab, each) != experiment(lab, solution))
        chosen[lab] = {"solution": solution, "wrong": wrong}
    try_out(0, chosen, tmp_path)


@pytest.mark.starts_kernels
def test_a_loop_without_an_end_is_called_one(tmp_path):
    """Virtual time cannot advance while it runs, so no limit on that clock ends it."""
    lab = catalogue.find("control")
    loop = "class Control:\n    def __init__(self):\n        while True:\n            pass\n"
    endless = hand_in(lab, variant(0), Attempt(files={"control.py": loop}), tmp_path / "endless")
    checked = check(endless)
    assert checked.is_judged and checked.points == 0 < checked.of
    assert "a loop without an end" in checked.measured.failure and "--clock" not in checked.measured.failure


@pytest.mark.nightly
@pytest.mark.starts_kernels
@pytest.mark.parametrize("number", range(VARIANTS))
@pytest.mark.parametrize("lab", catalogue.all_labs(), ids=catalogue.short_name)
def test_the_solution_passes_and_mistakes_get_their_hints(lab, number, tmp_path):
    every = attempts(lab, variant(number))
    wrong = [name for name in every if name != "solution"]
    assert len(wrong) >= 4, "an empty folder and three mistakes"
    tried = ["solution", *(wrong if EVERYTHING else wrong[number::VARIANTS])]
    try_out(number, {lab: {name: every[name] for name in tried}}, tmp_path)
