"""Cross traffic: TCP connections of other hosts over the bottleneck, as on the public network of the paper."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from experiments.parameters import Axis
from experiments.scenario import RunningCell
from flightpath.errors import MeasurementFailed
from flightpath.hosts import running
from probes.counters.links import read_counters
from results.records import ParameterValue
from services.iperf3 import Iperf3Server

ISOLATED, CROSS = "isolated", "cross"
_STREAMS, _LIMIT_S = 4, 600
_RAMP_S, _INTERVAL_S = 20, 1.0
_PHASE_S = 5.0
"""Longest wait for a phase of the traffic: some periods of its windows over the bottleneck of a transfer."""
_STEADY, _LEAST_BYTES = 1.05, 10_000
"""Largest growth of the rate between two intervals that counts as none, and least bytes that count as traffic."""


def traffic_axis(quick: Sequence[ParameterValue] = (ISOLATED, CROSS)) -> Axis:
    """Returns the parameter `traffic`: a transfer alone on its path, or one with cross traffic."""
    return Axis("traffic", tuple(quick), (ISOLATED, CROSS))


@contextmanager
def applied(run: RunningCell) -> Iterator[None]:
    """Sends four connections from x1 to y1 over the bottleneck while the context is open, if the cell wants them.

    Raises:
        MeasurementFailed: nothing flows.
    """
    if run.cell.parameters.get("traffic", ISOLATED) == ISOLATED:
        yield
        return
    sender, receiver = run.testbed.host("x1"), run.testbed.host("y1")
    argv = f"iperf3 --client {receiver.address()} --time {_LIMIT_S} --parallel {_STREAMS}".split()
    log = str(run.folder / "cross_traffic.log")
    link = {sender.name: run.testbed.link(sender.name, 0)}
    with Iperf3Server(receiver, run.folder), running(sender, [*argv, "--logfile", log]):
        _await_flow(lambda: sum(read_counters(link).values()))
        time.sleep(_phase_s(run))
        yield


def _phase_s(run: RunningCell) -> float:
    """Returns when in the sawtooth of the traffic's windows a repetition begins: by the seed, at any moment.

    In virtual time all repetitions would else begin at the same moment, and be the same measurement. All cells of a
    repetition begin at the same one, so that what differs between them is not the traffic.
    """
    return random.Random(f"{run.plan.seed} {run.cell.repetition}").uniform(0, _PHASE_S)


def _await_flow(carried: Callable[[], float]) -> None:
    """Waits until the traffic has its share: its rate no longer grows. Else what is measured first meets none."""
    deadline_s, before, rate = time.monotonic() + _RAMP_S, carried(), 0.0
    while time.monotonic() < deadline_s:
        time.sleep(_INTERVAL_S)
        now, slower = carried(), rate
        before, rate = now, now - before
        if slower >= _LEAST_BYTES and rate <= slower * _STEADY:
            return
    if rate < _LEAST_BYTES:
        raise MeasurementFailed(f"the cross traffic does not flow: {rate / _INTERVAL_S:.0f} bytes/s after {_RAMP_S} s")
