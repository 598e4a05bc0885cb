"""Lab 6: write a congestion control that fills a link, keeps the queue short, and shares."""

import json
import random
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence

from flightpath.errors import MeasurementFailed
from flightpath.hosts import await_end, running
from flightpath.overrides import override
from flightpath.pools import ThreadPool
from labs.framework import latency, programs
from labs.framework.judging import Limits, between, counting_beside
from labs.framework.lab import Finding, Lab, Measured, Parameters, Work
from labs.framework.network import Trial, trial
from labs.lab06_control.work import transport
from results.records import Series
from scenarios.congestion.race_measures import jain
from topologies.links.events import LinkEvent
from topologies.multipath_pair import MultipathPair

_FAST_S, _SLOW_S, _BOTH_S = 3.5, 4.0, 7.0
_SECONDS = _FAST_S + _SLOW_S + _BOTH_S
_FLOWS = 2
_SETTLE_S, _SETTLE_BOTH_S = 2.0, 3.0
_LIMIT_S = _SECONDS + 10
_PAYLOAD_SHARE = transport.PAYLOAD_BYTES / (transport.PAYLOAD_BYTES + 42)
_SLACK_MS = 30
"""Tolerance of the round-trip time, above that of the empty line."""


class ControlLab(Lab):
    """A student's control, alone on a line, on the line at half the rate, and beside a second one of its kind."""

    number, title, minutes = 6, "Write your own congestion control", 90
    goal = "You can write a congestion control, and say what it does to throughput, latency and its neighbours."
    needs = "labs 3 and 5; a little Python"
    has_files = True

    @override
    def parameters(self, chance: random.Random) -> Parameters:
        mbit, delay_ms = chance.choice([4, 6, 8]), chance.choice([15, 20, 25])
        return {
            "mbit": mbit,
            "slow_mbit": mbit // 2,
            "delay_ms": delay_ms,
            "queue": chance.choice([6, 8]),
            "limit_ms": 2 * delay_ms + _SLACK_MS,
        }

    @override
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        shutil.copy(transport.__file__, work.folder / "transport.py")  # a student may have changed it
        link = f"bw={parameters['mbit']} delay={parameters['delay_ms']}ms queue={parameters['queue']}bdp"
        slower = LinkEvent.parse(f"{_FAST_S}s h1-h2 bandwidth={parameters['slow_mbit']}Mbit")
        with trial(MultipathPair(paths=1, links=link, mptcp=False), events=[slower]) as network:
            client, server = network.testbed.net.hosts
            begin_s = time.monotonic()
            with latency.pinging(client, server.address(), _SECONDS, 0.05) as pings:
                received = _sent(network, work)
            counters = network.testbed.links[0].stats()["directions"]["a_to_b"]
            network.series |= _series(received, pings, begin_s)
        lost = {"lost": 100 * sum(counters["drops"].values()) / max(1, counters["in_packets"])}
        return network.measured(_values(received, pings, begin_s) | lost)

    @override
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        values = measured.values
        idle = "the line is idle at times: how does the window find out that there is room for more?"
        long = "the queue is long: round trips tell you so long before a packet is lost"
        filled = {}
        for phase, rate in (("fast", "mbit"), ("slow", "slow_mbit"), ("shared", "slow_mbit")):
            mbit = parameters[rate] * _PAYLOAD_SHARE
            limits = Limits(0.85 * mbit, 1.02 * mbit, too_low=idle)
            filled[phase] = between(f"{phase} line: throughput", values.get(f"{phase}_mbit"), "Mbit/s", limits)
        for phase in ("fast", "slow"):
            yield filled[phase]
            limits = Limits(0, parameters["limit_ms"], too_high=long)
            low = between(f"{phase} line: 9 of 10 pings within", values.get(f"{phase}_p90_ms"), "ms", limits)
            yield counting_beside(filled[phase], low)
        greedy = "one of two takes nearly all: who has more must give way more, and who has less must grow"
        fair = between("Jain's index of two of them", values.get("jain"), "", Limits(0.85, 1, too_low=greedy), points=2)
        yield counting_beside(filled["shared"], fair)
        often = "it loses many packets: what does it do when it hears of a loss?"
        lost = between("packets lost", values.get("lost"), "%", Limits(0, 5, too_high=often))
        yield counting_beside(filled["slow"], lost)


def _sent(network: Trial, work: Work) -> Sequence[Series]:
    """Runs the control twice, the second time later; returns the received payload of each, in bit/s."""
    argv = [sys.executable, "-I", "-S", transport.__file__, "receive", str(_SECONDS + 1)]
    with running(network.testbed.net.hosts[1], argv) as receiver, ThreadPool(2) as flows:
        for flow in [flows.submit(_run, network, work, wait_s) for wait_s in (0.0, _FAST_S + _SLOW_S)]:
            flow.result()
        stdout, stderr = await_end(receiver, _LIMIT_S, network.watch.check, "the receiver did not end")
    try:
        report = json.loads(stdout)
    except ValueError as error:
        raise MeasurementFailed(f"the receiver ended: {stderr.strip()[-300:]}") from error
    if len(senders := report["bytes"]) != _FLOWS:
        raise MeasurementFailed(f"control.py: packets came from {len(senders)} senders instead of {_FLOWS}")
    times_s = tuple(report["begin_s"] + number * transport.BIN_S for number in range(int(_SECONDS / transport.BIN_S)))
    return [
        Series("bit/s", times_s, tuple(8 * count / transport.BIN_S for count in counts[: len(times_s)]))
        for counts in senders
    ]


def _run(network: Trial, work: Work, wait_s: float) -> None:
    """Runs one sender with the student's control, without privileges."""
    time.sleep(wait_s)
    client, server = network.testbed.net.hosts
    argv = [programs.python(), "-I", "-S", "transport.py", "send", server.address(), str(_SECONDS - wait_s)]
    programs.run(client, argv, work.folder, seconds=_LIMIT_S, name="control.py")


def _values(received: Sequence[Series], pings: Sequence[latency.Ping], begin_s: float) -> dict[str, float]:
    """Returns the figures of each phase, without the time in which the control finds its rate."""
    values = {}
    ends_s = {"fast": (_SETTLE_S, _FAST_S), "slow": (_FAST_S + _SETTLE_S, _FAST_S + _SLOW_S)}
    for phase, (since_s, until_s) in ends_s.items():
        if received:
            values[f"{phase}_mbit"] = _mean(received[0], begin_s + since_s, begin_s + until_s) / 1e6
        if (p90_ms := latency.p90_ms(pings, begin_s + since_s, begin_s + until_s)) is not None:
            values[f"{phase}_p90_ms"] = p90_ms
    if len(received) == 2:
        since_s = begin_s + _FAST_S + _SLOW_S + _SETTLE_BOTH_S
        rates = [_mean(series, since_s, begin_s + _SECONDS) for series in received]
        values |= {"jain": jain(rates), "shared_mbit": sum(rates) / 1e6}
    return values


def _mean(series: Series, since_s: float, until_s: float) -> float:
    return statistics.fmean(
        value for at_s, value in zip(series.times_s, series.values, strict=True) if since_s <= at_s < until_s
    )


def _series(received: Sequence[Series], pings: Sequence[latency.Ping], begin_s: float) -> dict[str, Series]:
    flows = {
        f"goodput of {name}": Series("bit/s", tuple(at_s - begin_s for at_s in series.times_s), series.values)
        for name, series in zip(("your control", "the second one"), received, strict=False)
    }
    return {**flows, "ping beside it": latency.series(pings, begin_s)}
