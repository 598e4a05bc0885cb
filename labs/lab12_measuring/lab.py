"""Lab 12: response times without coordinated omission, and an interval for a mean."""

import json
import math
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from flightpath.errors import MeasurementFailed
from flightpath.hosts import running
from flightpath.overrides import override
from flightpath.waiting import wait_until
from labs.framework import programs
from labs.framework.judging import Limits, answered, between, counting_beside
from labs.framework.lab import Finding, Lab, Measured, Parameters, Question, Work
from labs.framework.network import trial
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY

FILE = "measure.py"
_SERVER = Path(__file__).parent / "work" / "server.py"
SECONDS, RATE = 16, 100
_PORT = "5400"
_PRINTED = ("requests", "p50_ms", "p99_ms")
_NEAR = 0.03
"""Tolerance of the number of requests that a program printed, as a fraction of those that the server got."""


class MeasuringLab(Lab):
    """A program that measures, and overlooks what is worst."""

    number, title, minutes = 12, "Measure well", 60
    goal = "You can measure response times so that slow ones count, and say how sure you are of a mean."
    needs = "Python; labs 1 to 3; what a percentile is"
    questions = (
        Question("slow_percent", "How many of a hundred users, who come at any time, meet a pause"),
        Question("mean_mbit", "The mean of the six throughputs, in Mb/s"),
        Question("half_width_mbit", "Half the width of the 95 % confidence interval of that mean, in Mb/s"),
    )
    has_files = True

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        mean = chance.uniform(80, 95)
        return {
            "ms": chance.choice([1, 2]),
            "pause_ms": chance.choice([300, 350, 400]),
            "period_ms": chance.choice([2000, 2500]),
            "runs": [round(chance.gauss(mean, 3), 1) for _ in range(6)],
            "seconds": SECONDS,
            "rate": RATE,
        }

    @override
    def tried_in(self, parameters: Parameters, chance: random.Random) -> Parameters:
        """Draws pauses that are shorter or longer than those of any variant, as long ones after longer periods."""
        shortest_ms, longest_ms, period_ms = chance.choice([(150, 240, 2000), (480, 620, 2600)])
        pause_ms = chance.randint(shortest_ms, longest_ms)
        return {**parameters, "pause_ms": pause_ms, "period_ms": period_ms + chance.randint(-200, 200)}

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        link = f"bw=20 delay={parameters['ms']}ms"
        with trial(MultipathPair(paths=1, links=link, mptcp=False)) as network:
            client, server = network.testbed.net.hosts
            pauses = [str(parameters[key] / 1e3) for key in ("period_ms", "pause_ms")]
            served = TEMPORARY / "served.txt"
            served.write_text("")
            with running(server, [sys.executable, "-I", "-S", str(_SERVER), *pauses, str(served)]):
                wait_until(lambda: _PORT in server.run(["ss", "-Htln"]), "the server to listen", 10)
                argv = [programs.python(), "-I", "-S", FILE, server.address(), str(SECONDS), str(RATE)]
                ended = programs.run(client, argv, work.folder, seconds=3 * SECONDS, name=FILE)
        printed, requests = _printed(ended.output), len(served.read_text().split())
        if abs(printed["requests"] - requests) > _NEAR * max(printed["requests"], requests):
            raise MeasurementFailed(
                f"{FILE} printed that there were {printed['requests']:g} requests, and the server got {requests}"
            )
        p99_ms = 2 * parameters["ms"] + parameters["pause_ms"] - 0.01 * parameters["period_ms"]
        return network.measured({**printed, "true_p99_ms": p99_ms})

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        runs = parameters["runs"]
        long = "how much of the time does the server pause?"
        yield answered(work, "slow_percent", "users who meet a pause", slow_percent(parameters), long, within=0.05)
        yield answered(work, "mean_mbit", "mean of six runs", statistics.mean(runs), "add, and divide", within=0.005)
        few = "six values are few: Student's t with how many degrees of freedom? And a mean varies less than a run"
        yield answered(work, "half_width_mbit", "half the width of the interval", half_width(runs), few, within=0.04)
        values, rtt_ms = measured.values, 2 * parameters["ms"]
        requested = SECONDS * RATE
        missing = "requests that users would have sent during a pause are missing: should they wait for an answer?"
        limits = Limits(
            0.97 * requested, 1.02 * requested, too_low=missing, too_high=f"the task is {RATE} requests a second"
        )
        requests = between("requests", values.get("requests"), "", limits)
        yield requests
        half = "half of all requests meet no pause"
        median = between("median", values.get("p50_ms"), "ms", Limits(rtt_ms, rtt_ms + 6, half, half))
        yield counting_beside(requests, median)
        since = "a user waits from the moment when the request should have been sent"
        p99_ms = values.get("true_p99_ms", 0.0)
        limits = Limits(0.92 * p99_ms, 1.08 * p99_ms, since, "the worst of a hundred is not the worst of all")
        yield between("99th percentile", values.get("p99_ms"), "ms", limits, points=2)


def slow_percent(parameters: Parameters) -> float:
    """Returns the share of the time in which the server pauses."""
    return 100 * parameters["pause_ms"] / parameters["period_ms"]


def half_width(values: Sequence[float]) -> float:
    """Returns half the width of the 95 % interval of a mean (Student, The probable error of a mean, 1908)."""
    from scipy import special  # slow to load, and every list of labs imports this file

    count = len(values)
    return float(special.stdtrit(count - 1, 0.975)) * statistics.stdev(values) / math.sqrt(count)


def _printed(output: str) -> dict[str, float]:
    """Returns the numbers in the last line that a student's program printed."""
    last = (output.strip().splitlines() or [""])[-1]
    try:
        printed = json.loads(last)
        numbers = {key: float(printed[key]) for key in _PRINTED}
        if not all(map(math.isfinite, numbers.values())):
            raise ValueError("not a number")
        return numbers
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        wanted = '{"requests": 1, "p50_ms": 2.5, "p99_ms": 3.5}'
        raise MeasurementFailed(f"{FILE}: its last line is not like {wanted}: {last[:80]!r}") from error
