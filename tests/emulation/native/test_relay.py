"""The relay between two real network stacks: how it starts and ends, and what it answers and counts meanwhile."""

import json
import os
import signal
import subprocess
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from flightpath.waiting import wait_until
from tests.bench.processes import memory_bytes
from tests.support.finished import finished
from tests.support.orphans import orphaned
from tests.support.relay_link import Host, assert_nothing_unaccounted, connect, frames_written, relay_argv, tcp_transfer

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/net/tun").exists(), reason="needs root and /dev/net/tun"),
    pytest.mark.usefixtures("built"),
]


def test_memory_is_bounded_and_what_has_no_room_is_dropped_like_from_a_full_queue(make_link):
    # However busy this machine is, all frames are sent before the first of them arrives.
    link = make_link("delay_ns=5000000000", "", "--memory", "6000000")
    before = memory_bytes(link.process.pid)
    (device,) = json.loads(link.a.run("ip", "-j", "link", "show", link.a.interface))
    assert device["txqlen"] == 10_000, "all of them may wait there"
    link.send(2000)
    stats = link.settled(2000)
    assert_nothing_unaccounted(stats)
    assert 900 < stats["out_packets"] < 1000, "a third of the memory, by 2112 bytes"
    assert stats["drops"]["queue"] == 2000 - stats["out_packets"]
    assert memory_bytes(link.process.pid) < before + 8_000_000
    assert link.received() == list(range(stats["out_packets"]))
    link.send(900)
    assert link.settled(2900)["out_packets"] == stats["out_packets"] + 900, "there is room again"


def test_gso_packets_pass_in_one_piece_and_have_memory_of_their_own(make_link):
    """Conformance shows what a link does to segments one by one: ../topologies/test_link_conformance.py."""
    link = make_link("rate_bps=300000000,delay_ns=50000000,jitter_ns=500000", "", "--memory", "6000000")
    data = os.urandom(8 << 20)
    with tcp_transfer(link, data) as arrived:
        pass
    assert bytes(arrived) == data
    stats = link.settled(1)
    assert_nothing_unaccounted(stats)
    assert stats["spec"]["max_frame_bytes"] > 0 and frames_written(stats) < stats["out_packets"] / 2
    # What a capture on a real wire would show: the data, and headers with each segment.
    assert stats["out_bytes"] - len(data) >= 66 * (len(data) // 1448)
    assert stats["drops"]["malformed"] == stats["drops"]["device"] == 0


def test_gso_packets_follow_rate_and_duplication(make_link):
    link = make_link("rate_bps=10000000000", "")
    assert link.offload(link.a, "tcp-segmentation-offload") and link.offload(link.a, "tx-checksumming")
    for change, bound in [("rate_bps=50000000", 6250), ("rate_bps=10000000", 0), ("rate_bps=400000000", 50000)]:
        assert link.ask(f"set a-to-b {change}") == {"ok": True}
        assert link.stats()["spec"]["max_frame_bytes"] == bound
        assert link.offload(link.a, "tcp-segmentation-offload") == (bound > 0)
        assert bound in (0, link.gso_max_size(link.a))
    link.ask("set a-to-b loss=0.01")
    assert link.offload(link.a, "tcp-segmentation-offload"), "each segment is lost by itself"
    link.ask("set a-to-b duplicate=0.01")
    assert not link.offload(link.a, "tcp-segmentation-offload")
    assert link.offload(link.a, "tx-checksumming")
    assert link.offload(link.b, "tcp-segmentation-offload"), "the other direction has not been asked to change"


def test_each_end_shows_the_rate_that_it_sends_at_as_its_speed(make_link):
    def speed(host) -> str:
        return host.run("ethtool", host.interface).partition("Speed: ")[2].partition("\n")[0]

    link = make_link("rate_bps=98440000", "")
    assert (speed(link.a), speed(link.b)) == ("98Mb/s", "10000Mb/s")
    for change, shown in [
        ("rate_bps=2500000000", "2500Mb/s"),
        ("rate_bps=64000", "1Mb/s"),
        ("rate_bps=0", "10000Mb/s"),
    ]:
        assert link.ask(f"set a-to-b {change}") == {"ok": True}
        assert speed(link.a) == shown
    assert speed(link.b) == "10000Mb/s", "the other end has not been asked to change"


def test_malformed_requests_are_answered_and_change_nothing(make_link):
    link = make_link("rate_bps=1000000")
    before = link.stats()["spec"]
    for request, part in [
        ("frobnicate", "frobnicate"),
        ("set a-to-c rate_bps=1000", "a-to-b"),
        ("set a-to-b", "a-to-b"),
        ("set a-to-b delay_ns=5,rate_bps=x", "rate_bps"),
        ('set a-to-b "=\\\x01', "?"),
        ("stats" + " " * 6000, "5000"),
        ("down please", "down"),
        ("at soon down", "nanoseconds"),
        ("at -5 down", "nanoseconds"),
        ("at 5 at 6 down", "unknown command"),
        ("at 5 set a-to-b rate_bps=x", "rate_bps"),
    ]:
        assert part in link.ask(request)["error"]
    assert link.stats()["spec"] == before


def test_many_clients_at_once(make_link):
    link = make_link()
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(connect(link.control))) for _ in range(10)]
        for client in clients:
            client.send(b"stats")
        assert all(json.loads(client.recv(65536))["name"] == "link" for client in clients)
    for _ in range(40):  # more than it serves at once: they leave their places again
        with closing(connect(link.control)) as client:
            client.send(b"stats")
            assert json.loads(client.recv(65536))["name"] == "link"


def test_reset_forgets_lateness_and_peak_and_keeps_counters(make_link):
    link = make_link("rate_bps=10000000", "")
    link.send(20)
    before = link.settled(20)
    assert before["queue_peak_bytes"] > 0 and frames_written(before) == 20
    assert link.ask("reset") == {"ok": True}
    after = link.stats()
    assert after["queue_peak_bytes"] == after["lateness_ns"]["max"] == frames_written(after) == 0
    assert after["out_packets"] == 20
    link.send(3)
    assert frames_written(link.settled(23)) == 3


def test_writes_to_a_device_that_is_down_are_counted(make_link):
    link = make_link()
    link.b.run("ip", "link", "set", link.b.interface, "down")
    link.send(7)
    stats = link.settled(7)
    assert stats["drops"]["device"] == 7 and stats["out_packets"] == 0
    assert_nothing_unaccounted(stats)
    link.b.run("ip", "link", "set", link.b.interface, "up")
    link.send(2)
    assert link.settled(9)["out_packets"] == 2


def test_requests_are_carried_out_in_the_order_of_their_times_unless_cancelled(make_link):
    link = make_link("delay_ns=0", "")
    start = time.monotonic_ns() + 3_000_000_000  # when a busy machine, too, has made all three requests
    for ms, delay in ((300, 3), (100, 1), (200, 2)):
        assert link.ask(f"at {start + ms * 1_000_000} set a-to-b delay_ns={delay}") == {"ok": True}
    wait_until(lambda: time.monotonic_ns() > start + 300_000_000, "the time of the last one", 30)
    wait_until(lambda: link.stats()["spec"]["delay_ns"] == 3, "the last one", 30)
    link.ask(f"at {time.monotonic_ns() + 3_600_000_000_000} set a-to-b delay_ns=9")
    assert link.ask("cancel") == {"ok": True}
    assert link.ask(f"at {time.monotonic_ns() + 100_000_000} set a-to-b delay_ns=7") == {"ok": True}
    wait_until(lambda: link.stats()["spec"]["delay_ns"] == 7, "the next one", 30)


@pytest.mark.parametrize(
    "spec",
    [
        "rate_bps=400000000,delay_ns=2000000,jitter_ns=300000,reorder=1,duplicate=0.01,corrupt=0.005",
        "rate_bps=400000000,burst_enter=0.001,burst_leave=0.2,discipline=fq_codel,ecn=1",
    ],
)
def test_sanitizers_find_nothing(make_link, spec):
    link, data = make_link(spec, program="relay-asan"), os.urandom(4 << 20)
    with tcp_transfer(link, data) as arrived:
        link.ask("stats")
        link.ask("set a-to-b rate_bps=300000000,queue_bytes=60000")
        link.ask("set b-to-a delay_ns=x")
        link.ask(f"at {time.monotonic_ns() + 20_000_000} set b-to-a discipline=codel")
        link.ask("reset")
    assert bytes(arrived) == data
    assert_nothing_unaccounted(link.settled(1))
    link.process.terminate()
    assert link.process.wait(30) == 0
    assert link.process.stderr.read() == ""


def test_the_namespace_of_no_process_is_refused(tmp_path):
    argv = relay_argv(tmp_path / "control")
    argv[argv.index("t1")] = "t1@2147483647"
    done = finished(argv, timeout=20)
    assert done.returncode == 3 and "process that exists" in done.stderr
    assert not (tmp_path / "control").exists()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_both_devices(make_link, stop):
    link = make_link()
    assert link.a.has_interface() and link.b.has_interface()
    link.process.send_signal(stop)
    assert link.process.wait(20) == 0
    assert not link.control.exists()
    wait_until(lambda: not link.a.has_interface() and not link.b.has_interface(), "both devices to go", 30)


def test_a_deleted_device_ends_it_with_a_reason(make_link):
    link = make_link()
    link.a.run("ip", "link", "delete", link.a.interface)
    assert link.process.wait(20) == 1
    assert "t1" in link.process.stderr.read()


def test_it_and_its_devices_end_with_its_parent(tmp_path):
    with ExitStack() as stack:
        a, b = Host(stack, 1), Host(stack, 2)
        with orphaned(relay_argv(tmp_path / "control")) as pid:
            a.take(pid, b)
            b.take(pid, a)
        wait_until(lambda: not a.has_interface() and not b.has_interface(), "both devices to go", 30)


def test_name_in_use_is_refused_and_nothing_is_left(make_link, tmp_path):
    link = make_link()
    inside = ["nsenter", "-t", str(link.process.pid), "-n"]
    subprocess.run([*inside, "ip", "link", "add", "t2", "type", "veth"], check=True)
    second = [*inside, *relay_argv(tmp_path / "second")[2:]]
    done = finished(second, timeout=20)
    assert done.returncode == 3
    assert "t2" in done.stderr and not (tmp_path / "second").exists()
