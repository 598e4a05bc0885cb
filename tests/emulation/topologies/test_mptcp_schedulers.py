"""MPTCP schedulers of research in the virtual-time kernel: which path carries what, and that all of it arrives."""

import os
import time
from pathlib import Path

import pytest

from flightpath.hosts import run_in
from probes.counters import links as link_counters
from probes.counters import mptcp
from probes.transfers.ftp import FtpDownload
from probes.transfers.requests import Requests
from results.records import Measurement
from services.reply import ReplyServer, RequestPattern
from services.vsftpd import Vsftpd
from tests.support.rings import nightly
from topologies.hosts import congestion_control
from topologies.hosts.mptcp_schedulers import DEFAULT, RESEARCH
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

FAST, SLOW = "bw=300 delay=10ms queue=50ms", "bw=80 delay=30ms queue=50ms"
FAST_PATH_MS = 22.8
"""Time of an answer of 100 kB over the fast path alone, with an open window: a round trip and its transmission."""

LARGE, SMALL = RequestPattern(40, 100_000), RequestPattern(200, 11_400)
"""A small answer has eight segments, and windows have room for more. Eight answers come before the second path does."""
NARROW, FAR = "bw=50 delay=10ms queue=20ms", "bw=10 delay=100ms queue=50ms"
SEVERAL_WINDOWS = RequestPattern(30, 600_000)
DOWNLOAD_BYTES = 60_000_000
FILE_BYTES = 20_000_000
CUT_AFTER_NS = 500_000_000
"""Time after which the fast path is cut: it carries the file in 0.6 s, and the log-in takes half of that."""


def network(scheduler: str, links: tuple[str, str] = (FAST, SLOW)) -> MultipathPair:
    return MultipathPair(links=links, mptcp=True, congestion_control="cubic", scheduler=scheduler)


def answered(
    scheduler: str, pattern: RequestPattern, links: tuple[str, str] = (FAST, SLOW), window_bytes: int | None = None
) -> tuple[Measurement, tuple[float, float]]:
    """Returns response times, and the bytes that each path carried to the client, headers included."""
    with Testbed(network(scheduler, links)) as testbed:
        client, server = testbed.net.hosts
        if window_bytes is not None:
            run_in(client, ["sysctl", "-q", "-w", f"net.ipv4.tcp_rmem=4096 131072 {window_bytes}"])
        paths = dict(zip(("first", "second"), testbed.links, strict=True))
        with ReplyServer(server, TEMPORARY, mptcp=True):
            before = link_counters.read_counters(paths)
            measured = Requests(pattern, mptcp=True).run(client, server.address())
            after = link_counters.read_counters(paths)
        assert mptcp.require_mptcp(client.name, {}, mptcp.read_counters(client)) == {"connections": 1, "joins": 1}
    first, second = (after[f"{name}.b_to_a"] - before[f"{name}.b_to_a"] for name in paths)
    return measured, (first, second)


def second_share(carried: tuple[float, float]) -> float:
    return carried[1] / sum(carried)


def test_redundant_sends_each_answer_over_both_of_two_equal_paths():
    _, carried = answered("redundant", LARGE, (FAST, FAST))
    for size in carried:
        assert 0.9 * LARGE.total_bytes <= size <= 1.12 * LARGE.total_bytes, carried


def test_redundant_is_as_fast_as_the_faster_path_alone_and_leaves_out_what_came_over_it():
    measured, carried = answered("redundant", LARGE)
    assert measured.metrics["latency_service_p50"].value == pytest.approx(FAST_PATH_MS, abs=1)
    assert 0.9 * LARGE.total_bytes <= carried[0] <= 1.12 * LARGE.total_bytes
    assert 0.15 < second_share(carried) < 0.4


def test_round_robin_gives_both_paths_the_same_number_of_segments():
    _, carried = answered("roundrobin", SMALL)
    assert second_share(carried) == pytest.approx(0.48, abs=0.01), carried


def test_blest_and_ecf_leave_more_to_the_fast_path_than_linux_does():
    shares, times_ms = {}, {}
    for scheduler in (DEFAULT, "blest", "ecf"):
        measured, carried = answered(scheduler, LARGE)
        shares[scheduler] = second_share(carried)
        times_ms[scheduler] = measured.metrics["latency_service_mean"].value
    assert shares[DEFAULT] > 0.05, shares
    for scheduler in ("blest", "ecf"):
        assert shares[scheduler] < 0.5 * shares[DEFAULT], shares
        assert times_ms[scheduler] < times_ms[DEFAULT], times_ms


@pytest.mark.parametrize(("scheduler", "window_bytes"), [("ecf", None), ("blest", 1_000_000)])
def test_blest_and_ecf_wait_for_the_fast_path_where_the_slow_one_would_hold_it_up(scheduler, window_bytes):
    """An answer is larger than the fast path's window. BLEST minds the connection's window, and round robin none."""
    (_, waits), (_, does_not) = (
        answered(name, SEVERAL_WINDOWS, (NARROW, FAR), window_bytes) for name in (scheduler, "roundrobin")
    )
    assert second_share(does_not) > 0.04, does_not
    assert second_share(waits) < 0.01, waits


@pytest.mark.parametrize("scheduler", ["blest", "ecf"])
def test_blest_and_ecf_use_both_paths_for_a_download(scheduler):
    _, carried = answered(scheduler, RequestPattern(1, DOWNLOAD_BYTES))
    assert 0.1 < second_share(carried) < 0.22, carried


@pytest.mark.parametrize("scheduler", ["redundant", *map(nightly, sorted({*RESEARCH} - {"redundant"}))])
def test_a_file_arrives_whole_although_a_path_is_cut_meanwhile(scheduler):
    with Testbed(network(scheduler)) as testbed:
        client, server = testbed.net.hosts
        service = Vsftpd(server, TEMPORARY / "ftp", env=congestion_control.preload_environment(server, mptcp=True))
        service.files.mkdir(parents=True)
        (service.files / "file").write_bytes(os.urandom(FILE_BYTES))
        with service:
            testbed.links[0].set_black_hole(True, at_ns=time.monotonic_ns() + CUT_AFTER_NS)
            copy = Path(TEMPORARY / "copy")
            FtpDownload("file", FILE_BYTES, mptcp=True, to=copy).run(client, server.address())
            assert copy.read_bytes() == (service.files / "file").read_bytes()
