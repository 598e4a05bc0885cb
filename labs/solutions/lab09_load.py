"""Lab 9: the solution, and typical mistakes."""

from labs.framework.lab import Parameters
from labs.lab09_load.lab import capacity_per_s
from labs.solutions.attempt import Attempt

_BORNE = 0.77
"""The share of the capacity up to which 95 of 100 pages come in time, found by trying."""


def solution(parameters: Parameters) -> Attempt:
    """Answers a load a little below the limit of each protocol."""
    single = capacity_per_s(parameters)
    both = single * (1 + parameters["mbit2"] / parameters["mbit1"])
    return _answers(single, _BORNE * single, _BORNE * both)


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    single = capacity_per_s(parameters)
    return {
        "the line is full": _answers(single, 1.2 * single, 0, "users come at random"),
        "MPTCP bears as much as TCP": _answers(single, _BORNE * single, 0.9 * _BORNE * single, "it bears more"),
        "bytes for bits": _answers(8 * single, 0, 0, "how many bits has a page"),
        "only reckoned": Attempt({"capacity_per_s": single}, {}, "one user in twenty"),
    }


def _answers(capacity: float, tcp: float, mptcp: float, hint: str = "") -> Attempt:
    rounded = {"capacity_per_s": capacity, "tcp_per_s": tcp, "mptcp_per_s": mptcp}
    return Attempt({key: round(value, 2) for key, value in rounded.items()}, {}, hint)
