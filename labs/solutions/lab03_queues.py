"""Lab 3: the solution, and typical mistakes."""

from labs.framework.lab import Parameters
from labs.lab03_queues.lab import FILE, PACKET_BYTES
from labs.solutions.attempt import Attempt


def solution(parameters: Parameters) -> Attempt:
    """Uses FQ-CoDel, with the queue's size unchanged."""
    bits = parameters["packets"] * PACKET_BYTES * 8
    answers = {
        "fast_wait_ms": bits / parameters["fast_mbit"] / 1e3,
        "slow_rtt_ms": 2 * parameters["delay_ms"] + bits / parameters["slow_mbit"] / 1e3,
    }
    return Attempt(answers, queue(parameters["packets"], "fq_codel"))


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    answers, files = solution(parameters).answers, solution(parameters).files
    bdp_packets = parameters["fast_mbit"] * 1e3 * 2 * parameters["delay_ms"] / (PACKET_BYTES * 8)
    return {
        "bytes for bits": Attempt({**answers, "fast_wait_ms": answers["fast_wait_ms"] / 8}, files, "how many bits"),
        "the wait on the fast line for both": Attempt(
            {**answers, "slow_rtt_ms": 2 * parameters["delay_ms"] + answers["fast_wait_ms"]}, files, "slow line's rate"
        ),
        "a droptail queue of one product": Attempt(answers, queue(round(bdp_packets), "droptail"), "queue are late"),
        "a queue of a few packets": Attempt(answers, queue(4, "droptail"), "queue runs empty"),
        "a discipline that is none": Attempt(answers, queue(100, "codle"), "codel"),
    }


def queue(packets: int, discipline: str) -> dict[str, str]:
    return {FILE: f'packets = {packets}\ndiscipline = "{discipline}"\n'}
