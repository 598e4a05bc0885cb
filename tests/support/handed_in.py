"""Submissions made from solutions and mistakes, as students would hand them in."""

import importlib
from pathlib import Path

from labs.framework import catalogue, work
from labs.framework.lab import Lab, Variant
from labs.solutions.attempt import Attempt


def attempts(lab: Lab, variant: Variant) -> dict[str, Attempt]:
    """Submissions of a variant by name: the solution, typical mistakes, and nothing."""
    solutions = importlib.import_module(f"labs.solutions.{catalogue.folder_of(lab).name}")
    parameters = variant.parameters(lab)
    return {"solution": solutions.solution(parameters), "empty": Attempt(), **solutions.mistakes(parameters)}


def hand_in(lab: Lab, variant: Variant, attempt: Attempt, folder: Path) -> work.Submission:
    """Makes a student's folder with an attempt."""
    work.start(lab, variant, folder)
    lines = [f"{key} = {value}\n" for key, value in attempt.answers.items()]
    (folder / work.ANSWERS).write_text("".join(lines))
    for name, text in attempt.files.items():
        (folder / name).write_text(text)
    return work.read(folder)
