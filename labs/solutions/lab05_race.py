"""Lab 5: a solution, and typical mistakes."""

from labs.framework.lab import Parameters
from labs.lab05_race.lab import FILE, round_trips
from labs.solutions.attempt import Attempt
from scenarios.congestion.race_measures import jain

_SHARES = {("cubic", "vegas"): 83.0, ("bbr", "cubic"): 95.0, ("bbr", "reno"): 92.0, ("reno", "vegas"): 87.0}
_CHOICES = {"background": "vegas", "urgent": "bbr", "fair": "reno"}
_WRONG = {
    "background": ("bbr", "pushes the other aside"),
    "urgent": ("vegas", "gives way"),
    "fair": ("vegas", "gives way"),
}


def solution(parameters: Parameters) -> Attempt:
    """Answers shares as measured, and a bias that is a little larger than that of the round trips."""
    pair = (parameters["first"], parameters["second"])
    share = _SHARES[pair] if pair in _SHARES else 100 - _SHARES[pair[::-1]]
    bias = round_trips(parameters) ** 1.3
    answers = {"share_percent": share, "jain": jain([share, 100 - share]), "bias": bias}
    return Attempt(answers, _file(_CHOICES[parameters["purpose"]]))


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    """Returns typical mistakes, with the hints that they get; correct answers are left out to save time."""
    right = solution(parameters)
    share, bias = right.answers["share_percent"], right.answers["bias"]
    wrong, hint = _WRONG[parameters["purpose"]]
    return {
        "the share of the other": Attempt({"share_percent": 100 - share}, right.files, "which one is the first"),
        "an index that is the share": Attempt({"share_percent": share, "jain": 1.0}, right.files, "sum of the squares"),
        "no bias": Attempt({"bias": 1.0}, right.files, "whose are shorter"),
        "far before near": Attempt({"bias": 1 / bias}, right.files, "whose are shorter"),
        "an algorithm for another purpose": Attempt({}, _file(wrong), hint),
        "an algorithm that is none": Attempt({}, _file("tahoe"), "none of reno"),
    }


def _file(algorithm: str) -> dict[str, str]:
    return {FILE: f'algorithm = "{algorithm}"\n'}
