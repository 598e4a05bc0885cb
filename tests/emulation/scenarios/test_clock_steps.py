"""The time of day is set during a load: rates stay true, and the cell is unusable.

Only a virtual-time kernel has a clock to set.
"""

import threading
import time

import pytest

from experiments.fidelity.watch import Watch
from flightpath.clock import Clock, clock_here
from probes.transfers.stream import Stream
from results.records import Verdict
from services.stream import StreamServer
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.skipif(clock_here() is Clock.REAL, reason="would set the time of this machine"),
]

RATE_BPS = 20_000_000


def set_time_of_day(by_s: float) -> None:
    time.clock_settime(time.CLOCK_REALTIME, time.time() + by_s)


def nightly(*words: object):
    return pytest.param(*words, marks=pytest.mark.nightly)


@pytest.mark.parametrize(
    ("by_s", "how"),
    [(1, "forward by 1s"), nightly(-1, "back by 1s"), nightly(3600, "forward by 3600s"), (-3600, "back by")],
)
def test_a_step_of_the_clock_gives_no_false_rate_and_a_cell_that_is_unusable(sandboxed, by_s, how):
    def body() -> None:
        network = MultipathPair(paths=1, links=LinkSpec(bandwidth_bps=RATE_BPS, delay_s=0.005))
        with Testbed(network) as testbed:
            client, server = testbed.net.hosts
            with Watch(testbed) as watch, StreamServer(server, TEMPORARY):
                begun_s = time.monotonic()
                step = threading.Timer(3.3, set_time_of_day, [by_s])
                step.start()
                Stream(seconds=6).run(client, server.address())
                watch.set_load_interval(begun_s, time.monotonic())
                step.join()
            link = testbed.links[0].name
            rates_bps = watch.log.rates(f"{link}.b_to_a", "bit/s", start_s=begun_s, scale=8).values
            assert 5 <= len(rates_bps) <= 8
            assert all(0.9 * RATE_BPS < rate_bps < 1.05 * RATE_BPS for rate_bps in rates_bps[1:4]), rates_bps
            assert all(0 <= rate_bps < 1.05 * RATE_BPS for rate_bps in rates_bps), rates_bps
            certificate = watch.certificate()
            assert certificate.verdict is Verdict.UNUSABLE
            assert f"time of day was set {how}" in certificate.reasons[0]

    try:
        sandboxed(body)
    finally:
        set_time_of_day(-by_s)
