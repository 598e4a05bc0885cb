"""Counters of hosts and links: what is read, what becomes of it, and what it proves."""

import itertools
import os
import socket
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from flightpath.errors import MeasurementFailed
from probes.counters import links, mptcp, tcp
from probes.counters.sampling import CounterLog, Sampler
from probes.transfers.quic import socket_drops

MPTCP = {"MPCapableSYNTX": 40, "MPJoinSynAckRx": 40, "MPCapableFallbackACK": 0, "DssFallback": 0}


def test_mptcp_is_proven_by_joins_and_refuted_by_any_connection():
    assert mptcp.require_mptcp("h1", {}, MPTCP) == {"connections": 40, "joins": 40}
    mptcp.require_no_mptcp("h1", {}, {**MPTCP, "MPCapableSYNTX": 0})
    with pytest.raises(MeasurementFailed, match="40 MPTCP connections"):
        mptcp.require_no_mptcp("h1", {}, MPTCP)
    with pytest.raises(MeasurementFailed, match="no MPTCP connection"):  # only what moved since before counts
        mptcp.require_mptcp("h1", MPTCP, MPTCP)
    fell_back = {**MPTCP, "MPCapableSYNTXDrop": 3, "MPCapableFallbackACK": 1}
    assert mptcp.require_mptcp("h1", {}, fell_back, may_fall_back=True)["fallbacks"] == 4


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"MPJoinSynAckRx": 0}, "one path"),
        ({"MPCapableFallbackACK": 1}, "fell back to TCP: MPCapableFallbackACK=1"),
        ({"MPCapableSYNTXDrop": 1}, "MPCapableSYNTXDrop=1"),
    ],
)
def test_what_is_not_mptcp_on_two_paths_is_an_error(changes, why):
    with pytest.raises(MeasurementFailed, match=why):
        mptcp.require_mptcp("h1", {}, {**MPTCP, **changes})


def test_a_kernel_without_mptcp_is_named():
    host = SimpleNamespace(name="h1", run=lambda argv: "TcpExt: SyncookiesSent\nTcpExt: 0\n")
    with pytest.raises(MeasurementFailed, match="h1: the kernel has no MPTCP counters"):
        mptcp.read_counters(host)


def test_the_counters_of_each_host_are_kept_by_group_and_name_as_far_as_they_change():
    host = SimpleNamespace(name="h1", pid=os.getpid())
    before = tcp.snapshot([host])["h1"]
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        changes = tcp.increases(before, tcp.snapshot([host])["h1"])
    assert changes["Tcp.ActiveOpens"] >= 1 and 0 not in changes.values()
    assert tcp.increases({"same": 5, "more": 5}, {"same": 5, "more": 7, "new": 1}) == {"more": 2, "new": 1}
    assert {"Tcp.RetransSegs", "TcpExt.TCPTimeouts"} < set(before)


def test_a_host_whose_process_was_killed_has_no_counters():
    process = subprocess.Popen(["sleep", "60"])
    process.kill()
    process.wait()
    for read in (lambda: tcp.of_process(process.pid), lambda: tcp.arrived_payload(process.pid, 6, 32)):
        with pytest.raises(MeasurementFailed, match=f"process {process.pid} has ended"):
            read()


def test_rates_come_from_cumulative_counters():
    log = CounterLog([100.0, 101.0, 101.0, 103.0, 104.0], [{"x": x} for x in (0, 10, 10, 50, 51)])
    series = log.rates("x", "bit/s", start_s=101.0, end_s=104.0, scale=8)
    assert (series.times_s, series.values) == ((0.0, 2.0), (160.0, 8.0))
    at_one_moment = CounterLog(log.times_s[:3], log.rows[:3]).rates("x", "1/s", start_s=100.0)
    assert at_one_moment.values == (10.0,), "two samples of one moment have no rate"
    short = CounterLog([0.0, 1.0, 2.0, 2.001], [{"x": x} for x in (0, 100, 200, 1714)]).rates("x", "1/s", start_s=0.0)
    assert short.values == (100.0, 100.0), "single packets would make a rate of so short an interval"


def test_idle_time_is_a_share_of_the_whole():
    rows = [{"cpu_idle": idle, "cpu_total": total} for idle, total in ((0.0, 0.0), (0.5, 2.0), (2.5, 4.0))]
    assert CounterLog([0.0, 1.0, 2.0], rows).processor_share("cpu_idle", start_s=0).values == (25.0, 100.0)


def test_the_sampler_reads_before_during_and_after():
    numbers, reached = itertools.count(1), threading.Event()

    def read():
        number = next(numbers)
        if number == 3:
            reached.set()
        return {"n": float(number)}

    with Sampler(read, period_s=0.01) as sampler:
        assert reached.wait(30)
    assert [row["n"] for row in sampler.log.rows] == [float(n + 1) for n in range(len(sampler.log.rows))]
    assert 4 <= len(sampler.log.rows) == len(sampler.log.times_s) == len(sampler.log.epoch_offsets_s)
    assert sampler.log.times_s[-1] <= time.monotonic()
    assert sampler.log.epoch_offsets_s == pytest.approx([time.time() - time.monotonic()] * len(sampler.log.rows))


@pytest.mark.parametrize("asked", [False, True], ids=["only at the end", "before the end"])
def test_a_reader_that_fails_fails_the_measurement(asked):
    was_fine, failed = threading.Event(), threading.Event()

    def read():
        if threading.current_thread() is not threading.main_thread():
            was_fine.wait(30)
            failed.set()
            raise MeasurementFailed("the relay has ended")
        return {"n": 0.0}

    with pytest.raises(MeasurementFailed, match="seen" if asked else "relay"), Sampler(read, period_s=0.01) as sampler:
        sampler.check()
        was_fine.set()
        assert failed.wait(30)
        sampler._thread.join(10)
        if asked:
            with pytest.raises(MeasurementFailed, match="relay"):
                sampler.check()
            raise MeasurementFailed("seen")


def carried(a, b):
    before = {"h1_a.a_to_b": 5.0, "h1_a.b_to_a": 0.0, "h1_b.a_to_b": 0.0, "h1_b.b_to_a": 0.0}
    log = CounterLog([0.0, 1.0], [before, {**before, "h1_a.a_to_b": 5.0 + a, "h1_b.b_to_a": b}])
    return {"h1": links.carried_bytes(log, ["h1_a", "h1_b"])}


def test_the_bytes_of_each_link_tell_the_paths_that_were_used():
    assert carried(700.0, 300.0) == {"h1": {"h1_a": 700.0, "h1_b": 300.0}}
    links.require_all_paths(carried(700.0, 300.0))
    links.require_one_path(carried(10_000.0, 1.0))
    with pytest.raises(MeasurementFailed, match="h1_b"):
        links.require_all_paths(carried(10_000.0, 1.0))
    with pytest.raises(MeasurementFailed, match="h1_a, h1_b"):
        links.require_one_path(carried(700_000.0, 300_000.0))
    links.require_one_path(carried(700_000.0, 10_000.0))  # ARP, and the controller's probes, beside a small load


def counters(packets, queue_drops=0, device_drops=0, **changes):
    return {
        "out_packets": packets,
        "out_bytes": 100 * packets,
        "duplicated_packets": packets // 5,
        "ecn_marked": 0,
        "corrupted": packets,
        "drops": {"queue": queue_drops, "loss": 0, "malformed": 0, "device": device_drops, "down": packets // 25},
        "queue_peak_bytes": 7,
        "spec": {"max_frame_bytes": 6250, "rate_bps": 50_000_000},
        "lateness_ns": {"p50": 1000, "p99": 2000, "max": 3000, "histogram": [0] * 19 + [6, 1, 1, 0, 0]},
        "cpu_ns": packets * 10_000_000,
        **changes,
    }


def summary(before, after):
    return links.summary({"h1_a": {"a_to_b": before}}, {"h1_a": {"a_to_b": after}}, 2.0)["h1_a"]["a_to_b"]


def test_what_happened_before_the_load_is_not_the_load_s():
    found = summary(counters(5, 0, 1), counters(25, 3, 1))
    assert found["packets"] == 20
    assert found["drops"] == {"queue": 3, "aqm": 0, "loss": 0, "blackhole": 0, "down": 1, "malformed": 0, "device": 0}
    assert (found["duplicated_packets"], found["corrupted"]) == (4, 20)
    assert found["lateness_us"] == {"p50": 1.0, "p99": 2.0, "max": 3.0}
    assert found["lateness_histogram"] == [0] * 19 + [6, 1, 1]
    assert found["late_share"] == 0.25
    assert found["cpu_percent"] == 10.0


def test_an_emulator_that_cannot_tell_leaves_gaps_and_no_zeros():
    silent = counters(5, lateness_ns=None, queue_peak_bytes=None, spec={})
    del silent["cpu_ns"]
    found = summary(silent, silent)
    gaps = ("lateness_us", "lateness_histogram", "late_share", "cpu_percent", "queue_peak_bytes", "max_frame_bytes")
    assert {found[name] for name in gaps} == {None}
    nothing = counters(0, lateness_ns={"p50": 0, "p99": 0, "max": 0, "histogram": [0] * 42})
    assert summary(nothing, nothing)["late_share"] == 0.0, "a link that carried nothing was never late"


def test_a_datagram_that_a_cut_path_refuses_is_none_that_a_socket_dropped():
    errors = [{"RcvbufErrors": 2, "SndbufErrors": 1}, {"InDatagrams": 5}]
    assert (socket_drops(errors, is_cut=False), socket_drops(errors, is_cut=True)) == (3, 2)
