"""Lab 8: the solution, and typical mistakes."""

from labs.framework.lab import Parameters
from labs.lab08_subflows.lab import FILE
from labs.solutions.attempt import Attempt
from topologies.links.spec import PAYLOAD_SHARE

_LIMITS = """\
h1 ip mptcp limits set subflows 2 add_addr_accepted 2
h2 ip mptcp limits set subflows 2
"""
_SECOND = "h2 ip mptcp endpoint add 10.0.2.2 dev h2-eth1 signal\n"
_THIRD = "h2 ip mptcp endpoint add 10.0.3.2 dev h2-eth2 signal"


def solution(parameters: Parameters) -> Attempt:
    """Has the server announce both addresses, the third one as a backup."""
    answers = {"plain_mbit": PAYLOAD_SHARE * parameters["mbit1"], "subflows": 3, "cores_single": 1}
    return Attempt(answers, {FILE: f"{_LIMITS}{_SECOND}{_THIRD} backup\n"})


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    total = sum(parameters[f"mbit{i}"] for i in (1, 2, 3))
    return {
        "all paths, and wrong numbers": Attempt(
            {"plain_mbit": total, "subflows": 2, "cores_single": 2},
            {FILE: f"{_LIMITS}{_SECOND}{_THIRD}\n"},
            "costs money",
        ),
        "limits that allow nothing": Attempt({}, {FILE: f"{_SECOND}{_THIRD} backup\n"}, "limits allow"),
        "no reserve": Attempt({}, {FILE: f"{_LIMITS}{_SECOND}"}, "nothing is left"),
        "a command that is none of MPTCP's": Attempt({}, {FILE: "h1 ip link set h1-eth2 down\n"}, "not of the form"),
        "an address that nobody has": Attempt(
            {}, {FILE: f"{_LIMITS}h2 ip mptcp endpoint add 10.0.9.2 dev h2-eth1 signal\n"}, "second subflow"
        ),
    }
