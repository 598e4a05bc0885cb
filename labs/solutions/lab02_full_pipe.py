"""Lab 2: the solution, and typical mistakes."""

from labs.framework.lab import Parameters
from labs.solutions.attempt import Attempt


def solution(parameters: Parameters) -> Attempt:
    """Answers twice the delay, the product of both, and a buffer of one product."""
    rtt_ms = 2 * parameters["delay_ms"]
    bdp_kb = parameters["mbit"] * rtt_ms / 8
    return Attempt({"rtt_ms": rtt_ms, "bdp_kb": bdp_kb, "buffer_kb": 1.05 * bdp_kb})


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    right = solution(parameters).answers
    bdp_kb = right["bdp_kb"]
    return {
        "the delay of one way": Attempt({**right, "rtt_ms": right["rtt_ms"] / 2}, hint="the link twice"),
        "bits for bytes": Attempt({**right, "bdp_kb": 8 * bdp_kb}, hint="a byte has eight"),
        "a buffer that is too small": Attempt({**right, "buffer_kb": bdp_kb / 2}, hint="never waits"),
        "a buffer that is far too large": Attempt({**right, "buffer_kb": 10 * bdp_kb}, hint="much less would do"),
    }
