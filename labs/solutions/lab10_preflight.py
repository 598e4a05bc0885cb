"""Lab 10: the solution, and typical mistakes."""

from labs.framework.lab import Parameters
from labs.lab10_preflight.lab import FILE, LARGE_MB
from labs.solutions.attempt import Attempt
from topologies.links.spec import PAYLOAD_SHARE


def solution(parameters: Parameters) -> Attempt:
    """Chooses a buffer of two products, and a small transfer that lasts for many round trips."""
    answers = {
        "bdp_kb": _bdp_kb(parameters),
        "delivered_mbit": parameters["buffer_kb"] * 8 / (2 * parameters["delay_ms"]),
        "seconds": _seconds(parameters),
    }
    return Attempt(answers, _file(1, 2 * _bdp_kb(parameters)))


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    right = 2 * _bdp_kb(parameters)
    return {
        "a small transfer that is over in a moment": Attempt(
            {"bdp_kb": 8 * _bdp_kb(parameters)}, _file(0.05, right), "first round trips"
        ),
        "the buffer as delivered, and a measurement that costs too much": Attempt(
            {"delivered_mbit": parameters["mbit"]}, _file(2, parameters["buffer_kb"]), "costs more"
        ),
        "megabytes by megabits": Attempt({"seconds": _seconds(parameters) / 8}, _file(1, right), "megabits"),
        "a size that makes no sense": Attempt({}, _file(-1, right), "is not between"),
    }


def _bdp_kb(parameters: Parameters) -> float:
    return parameters["mbit"] * 2 * parameters["delay_ms"] / 8


def _seconds(parameters: Parameters) -> float:
    return LARGE_MB * 8 / (0.96 * PAYLOAD_SHARE * parameters["mbit"])


def _file(probe_mb: float, buffer_kb: float) -> dict[str, str]:
    return {FILE: f"probe_mb = {probe_mb}\nstreams = 1\nreceive_buffer_kb = {buffer_kb}\n"}
