"""The relay on the real clock: rates and delays are right whenever its process wakes."""

import os
import time
from pathlib import Path

import pytest

from flightpath.waiting import wait_until
from tests.support.relay_link import WIRE

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/net/tun").exists(), reason="needs root and /dev/net/tun"),
    pytest.mark.usefixtures("real_time_priority", "built"),
]


@pytest.mark.parametrize(("rate", "count"), [(10_000_000, 600), (100_000_000, 4000)])
def test_rate_is_the_one_asked_for(make_link, rate, count):
    link = make_link(f"rate_bps={rate},queue_bytes=100000000", "")
    link.send(count)

    def snapshot() -> tuple[int, int]:
        answer = link.ask("stats")
        stats = answer["directions"]["a_to_b"]
        assert stats["queued_packets"] > 1, "the line ran empty: what follows would not be its rate"
        return answer["uptime_ns"], stats["out_bytes"]

    wait_until(lambda: link.stats()["in_packets"] == count, "all to be read", 30, poll_s=0.002)
    start_ns, start_bytes = snapshot()
    target = start_bytes + (count * WIRE - start_bytes) * 3 // 4
    wait_until(lambda: link.stats()["out_bytes"] >= target, "three quarters of the rest", 30, poll_s=0.002)
    end_ns, end_bytes = snapshot()
    assert (end_bytes - start_bytes) * 8e9 / (end_ns - start_ns) == pytest.approx(rate, rel=0.03)
    stats = link.settled(count)
    assert stats["out_bytes"] == count * WIRE
    assert link.received() == list(range(count))


def test_round_trip_is_both_delays(make_link):
    link = make_link("delay_ns=20000000", "delay_ns=30000000")
    trips = []
    for _ in range(8):
        start = time.monotonic()
        link.send(1)
        _, source = link.receiver.recvfrom(2048)
        link.receiver.sendto(b"back", source)
        link.sender.recv(2048)
        trips.append(time.monotonic() - start)
    assert 0.050 <= min(trips) < 0.055
    assert link.stats()["lateness_ns"]["max"] > 0


def test_a_trace_sets_the_rate(make_link, tmp_path):
    trace = tmp_path / "trace"
    trace.write_text("1\n4\n")  # 2 packets of 1514 bytes in 4 ms: 6.056 Mb/s
    link = make_link(f"trace={trace},queue_packets=1000", "rate_bps=50000000")
    start = time.monotonic()
    link.send(400, size=1472)
    link.settled(400)
    assert 0.79 < time.monotonic() - start < 1.6
    assert link.stats()["spec"]["trace"] == {"opportunities": 2, "period_ns": 4_000_000, "mean_bps": 6_056_000}
    assert link.received() == list(range(400))
