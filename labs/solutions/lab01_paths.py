"""Lab 1: the solution, and typical mistakes."""

from labs.framework.lab import Parameters
from labs.lab01_paths.lab import FILE, first_hops
from labs.lab01_paths.network import layout
from labs.solutions.attempt import Attempt


def solution(parameters: Parameters) -> Attempt:
    """Routes both directions over the path without the broken link."""
    net = layout(parameters["code"])
    answers = {"broken_link": net.broken, "wrong_router": net.good_router, "rtt_ms": net.rtt_ms}
    return Attempt(answers, _file(parameters, net.good_router, net.good_router))


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    net = layout(parameters["code"])
    good, bad, right = net.good_router, 5 - net.good_router, solution(parameters)
    other = next(link for link in (12, 24, 13, 34) if link != net.broken)
    loop = {f"r{good}_to_{host}": parameters[f"r{good}_to_{host}"] for host in ("h1", "h2")}
    return {
        "another link": Attempt({**right.answers, "broken_link": other}, right.files, "ping over each link"),
        "the delay of one way": Attempt({**right.answers, "rtt_ms": net.rtt_ms / 2}, right.files, "there and back"),
        "only the way there": Attempt(right.answers, _file(parameters, good, bad), "say nothing of the way back"),
        "the wrong route left as it was": Attempt(
            right.answers, _file(parameters, good, good, loop), "a route in each"
        ),
        "a command that is no route": Attempt(right.answers, {FILE: "h1 reboot\n"}, "not of the form"),
        "a route to nowhere": Attempt(right.answers, {FILE: "h1 ip route add default via 192.0.2.1\n"}, "line 1"),
    }


def _file(parameters: Parameters, there: int, back: int, changed: Parameters | None = None) -> dict[str, str]:
    """Returns the routes: r1 sends to one router, and r4 to the same or the other one."""
    begin = f"10.{parameters['net']}"
    hops = {f"r{router}_to_h1": f"1{router}.1" for router in (2, 3)}
    hops |= {f"r{router}_to_h2": f"{router}4.4" for router in (2, 3)} | dict(changed or {})
    routes = [
        ("h1", "default", "1.1"),
        ("h2", "default", "4.4"),
        ("r1", f"{begin}.4.0/24", first_hops(there)["first_from_r1"]),
        ("r4", f"{begin}.1.0/24", first_hops(back)["first_from_r4"]),
        *(
            (f"r{router}", f"{begin}.{net}.0/24", hops[f"r{router}_to_h{host}"])
            for router in (2, 3)
            for host, net in ((1, 1), (2, 4))
        ),
    ]
    return {FILE: "".join(f"{name} ip route replace {to} via {begin}.{hop}\n" for name, to, hop in routes)}
