"""Lab 4: the solution, and typical mistakes."""

import math

from labs.framework.lab import Parameters
from labs.lab04_loss.lab import mathis_mbit
from labs.solutions.attempt import Attempt


def solution(parameters: Parameters) -> Attempt:
    """Applies Mathis' law; a few connections more than it says, because each of them varies."""
    single_mbit = mathis_mbit(parameters["loss_percent"], 2 * parameters["delay_ms"])
    streams = math.ceil(1.3 * parameters["target_mbit"] / single_mbit)
    quarter = parameters["loss_percent"] / 4
    return Attempt({"single_mbit": single_mbit, "loss_for_double_percent": quarter, "streams": streams})


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    right = solution(parameters).answers
    single_mbit, streams, loss_percent = right["single_mbit"], right["streams"], parameters["loss_percent"]
    return {
        "the delay of one way": Attempt({**right, "single_mbit": 2 * single_mbit}, hint="the delay twice"),
        "the loss taken off the bandwidth": Attempt(
            {**right, "single_mbit": parameters["bandwidth_mbit"] * (1 - loss_percent / 100)}, hint="between two losses"
        ),
        "half the loss, twice the throughput": Attempt(
            {**right, "loss_for_double_percent": loss_percent / 2}, hint="root of the loss"
        ),
        "too few connections": Attempt({**right, "streams": max(1, streams // 2)}, hint="all of them get together"),
        "far too many connections": Attempt({**right, "streams": 3 * streams}, hint="needless connection"),
    }
