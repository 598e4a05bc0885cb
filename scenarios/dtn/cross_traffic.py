"""Cross traffic: TCP connections of other hosts over the bottleneck, as on the public network of the paper."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from experiments.parameters import Axis
from experiments.scenario import RunningCell
from flightpath.hosts import running
from results.records import ParameterValue
from services.iperf3 import Iperf3Server

ISOLATED, CROSS = "isolated", "cross"
_STREAMS, _LIMIT_S = 4, 600


def traffic_axis(quick: Sequence[ParameterValue] = (ISOLATED, CROSS)) -> Axis:
    """Returns the parameter `traffic`: a transfer alone on its path, or one with cross traffic."""
    return Axis("traffic", tuple(quick), (ISOLATED, CROSS))


@contextmanager
def applied(run: RunningCell) -> Iterator[None]:
    """Sends four connections from x1 to y1 over the bottleneck while the context is open, if the cell wants them."""
    if run.cell.parameters.get("traffic", ISOLATED) == ISOLATED:
        yield
        return
    sender, receiver = run.testbed.host("x1"), run.testbed.host("y1")
    argv = f"iperf3 --client {receiver.address()} --time {_LIMIT_S} --parallel {_STREAMS}".split()
    log = str(run.folder / "cross_traffic.log")
    with Iperf3Server(receiver, run.folder), running(sender, [*argv, "--logfile", log]):
        yield
