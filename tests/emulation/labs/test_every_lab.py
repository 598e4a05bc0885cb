"""Every lab: its solution passes, and the empty and wrong ones fail with their hints, in several variants.

Usually the solution is tried in two variants, and each mistake in one of them; `make test-labs` tries all in five.
"""

import json
import os
from pathlib import Path

import pytest

from labs.framework import catalogue, experiments
from labs.framework.checking import Checked, judged
from labs.framework.lab import Lab
from labs.framework.variant import Variant
from labs.solutions.attempt import Attempt
from tests.support.handed_in import attempts, hand_in
from tests.support.lab import require_lab_kernel

EVERYTHING = "LAB_TESTS" in os.environ
VARIANTS = 5 if EVERYTHING else 2


def chosen(lab: Lab, number: int) -> dict[str, Attempt]:
    """What is tried in a variant, by name."""
    every = attempts(lab, variant(number))
    wrong = [name for name in every if name != "solution"]
    assert len(wrong) >= 4, "an empty folder and three mistakes"
    return {name: every[name] for name in ["solution", *(wrong if EVERYTHING else wrong[number::VARIANTS])]}


def variant(number: int) -> Variant:
    """One student's."""
    return Variant(f"student {number}")


def checked(lab: Lab, number: int, folder: Path) -> dict[str, tuple[Attempt, Checked]]:
    """All attempts in a variant, tried in one lab."""
    tried = chosen(lab, number)
    handed_in = {name: hand_in(lab, variant(number), attempt, folder / name) for name, attempt in tried.items()}
    same = {name: experiment(lab, attempt) for name, attempt in tried.items()}
    of_each = {same[name]: submission for name, submission in handed_in.items()}
    measured = dict(zip(of_each, experiments.measure(list(of_each.values()), lab.clock), strict=True))
    return {name: (tried[name], judged(submission, measured[same[name]])) for name, submission in handed_in.items()}


def experiment(lab: Lab, attempt: Attempt) -> str:
    """What an experiment depends on: attempts that differ in nothing else need only one."""
    return json.dumps([attempt.files, dict(lab.tried(attempt.answers))], sort_keys=True)


@pytest.mark.parametrize("number", range(VARIANTS))
@pytest.mark.parametrize("lab", catalogue.all_labs(), ids=catalogue.short_name)
@pytest.mark.timeout(600)
def test_the_solution_passes_and_mistakes_get_their_hints(lab, number, tmp_path):
    require_lab_kernel()
    results = checked(lab, number, tmp_path)
    _, solved = results.pop("solution")
    assert solved.passed, [finding for finding in solved.findings if not finding.passed] or solved.measured
    for name, (attempt, result) in results.items():
        hints = [finding.hint for finding in result.findings if not finding.passed]
        assert result.is_judged and not result.passed, name
        assert any(attempt.hint in text for text in [*hints, result.measured.failure]), (name, hints)
        assert result.of == solved.of
