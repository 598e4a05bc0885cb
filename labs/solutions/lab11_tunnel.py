"""Lab 11: the solution, and typical mistakes."""

from labs.framework.lab import Parameters
from labs.lab11_tunnel.lab import FILE, best_mbit
from labs.solutions.attempt import Attempt


def solution(parameters: Parameters) -> Attempt:
    """Chooses weights that begin with the paths' rates and follow them, and a buffer that restores the order."""
    best, fast, slow = best_mbit(parameters), parameters["fast_mbit"], parameters["slow_mbit"]
    answers = {"best_mbit": best, "equal_mbit": best * 2 * slow / (fast + slow), "mptcp_mbit": 0.97 * best}
    return Attempt(answers, _file(weights="adaptive", path_weights=[fast, slow], reordering="adaptive"))


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    fast, slow = parameters["fast_mbit"], parameters["slow_mbit"]
    return {
        "the rates, not the payload": Attempt({"best_mbit": fast + slow}, _file(), "bytes of headers"),
        "turns at the rate of the fast path": Attempt({"equal_mbit": 2 * fast}, _file(), "half of the packets"),
        "fixed weights": Attempt(
            {"mptcp_mbit": fast}, _file(path_weights=[fast, slow], reordering="adaptive"), "changed places"
        ),
        "nothing in order": Attempt({}, _file(weights="adaptive", path_weights=[fast, slow]), "in order"),
        "everything twice": Attempt({}, _file(scheduler="redundant", reordering="adaptive"), "what it can carry"),
        "a scheduler that is none": Attempt({}, _file(scheduler="random"), "choose one of wrr"),
    }


def _file(**settings: object) -> dict[str, str]:
    settings.setdefault("reordering", "off")
    values = {key: f'"{value}"' if isinstance(value, str) else value for key, value in settings.items()}
    return {FILE: "".join(f"{key} = {value}\n" for key, value in values.items())}
