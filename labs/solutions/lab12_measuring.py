"""Lab 12: the solution, and typical mistakes."""

import statistics
from pathlib import Path

import labs.lab12_measuring
from labs.framework.lab import Parameters
from labs.lab12_measuring.lab import FILE, half_width, slow_percent
from labs.solutions.attempt import Attempt

_DELIVERED = (Path(labs.lab12_measuring.__file__).parent / "work" / FILE).read_text()
_LOOP = _DELIVERED[_DELIVERED.index("        while time.monotonic()") : _DELIVERED.index("    cuts = ")]
_ON_TIME = """\
        for number in range(round(seconds * rate)):
            intended_s = begin_s + number / rate
            time.sleep(max(0, intended_s - time.monotonic()))
            ask(connection, number)
            times_s.append(time.monotonic() - intended_s)
"""


def solution(parameters: Parameters) -> Attempt:
    """Counts response times from when each request should have been sent."""
    runs = parameters["runs"]
    answers = {
        "slow_percent": slow_percent(parameters),
        "mean_mbit": statistics.mean(runs),
        "half_width_mbit": half_width(runs),
    }
    return Attempt(answers, _with(_ON_TIME))


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    runs = parameters["runs"]
    since_sending = _ON_TIME.replace(
        "            ask(", "            sent_s = time.monotonic()\n            ask("
    ).replace("- intended_s)", "- sent_s)")
    return {
        "as delivered, and the interval of a single run": Attempt(
            {"half_width_mbit": statistics.stdev(runs) * 2.57}, {}, "are missing"
        ),
        "times count from sending": Attempt({}, _with(since_sending), "should have been sent"),
        "the slowest of all": Attempt({}, _worst(), "not the worst of all"),
        "the normal distribution": Attempt(
            {"half_width_mbit": 1.96 * statistics.stdev(runs) / 6**0.5}, {}, "degrees of freedom"
        ),
        "no numbers": Attempt({}, {FILE: "print('fast')\n"}, "last line"),
    }


def _with(loop: str) -> dict[str, str]:
    return {FILE: _DELIVERED.replace(_LOOP, loop)}


def _worst() -> dict[str, str]:
    text = _with(_ON_TIME)[FILE]
    return {FILE: text.replace("1e3 * cuts[98]", "2e3 * max(times_s)")}
