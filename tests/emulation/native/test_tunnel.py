"""The tunnel between two real network stacks: data arrives unchanged, and counters agree."""

import json
import os
import signal
from pathlib import Path

import pytest

import native
from flightpath.errors import FlightpathError, UsageError
from flightpath.waiting import wait_until
from tests.support.c_builds import make
from tests.support.host_programs import program
from tests.support.rings import nightly
from tests.support.tunnel_net import FAST, MEGABYTE, PATH, net, ping
from topologies.links.spec import LinkSpec
from topologies.testbed.tunnel import Tunnel, TunnelSpec

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]


def test_ipv4_and_ipv6_inside_and_outside_over_both_paths():
    with net(FAST, FAST) as it:
        for outside in (4, 6):
            with Tunnel(it.h1, it.h2, TunnelSpec(family=outside)) as tunnel:
                for inside in (4, 6):
                    before = it.carried()
                    it.transfer(tunnel, 8 * MEGABYTE, inside)
                    grown = [now - then for now, then in zip(it.carried(), before, strict=True)]
                    assert min(grown) > 3 * MEGABYTE, grown
                stats = tunnel.stats(it.h2)
                expected = 1500 - (20 if outside == 4 else 40) - 8 - 8
                assert stats["mtu"] == tunnel.stats(it.h1)["mtu"] == expected
                assert sum(stats["drops"].values()) == stats["drops"]["no_path"], stats["drops"]
                assert sum(stats["control"].values()) == stats["control"]["greetings"]


def test_sanitized_builds_carry_loss_reordering_and_all_sizes_cleanly():
    bad = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.003, loss=0.01, jitter_s=0.001, reordering=True)
    make("build/mptgre-asan")
    with net(bad, PATH) as it:
        tunnel = Tunnel(it.h1, it.h2, program="mptgre-asan")
        with tunnel:
            it.transfer(tunnel, 3 * MEGABYTE)
            for size in (4, 100, 1435, 1436, 4000):
                assert it.datagrams(tunnel, 100, size)[1] == 0
            ends = [each.process for each in tunnel._ends]
            for end in ends:
                end.send_signal(signal.SIGTERM)
            assert [(end.wait(30), end.stderr.read()) for end in ends] == [(0, "")] * 2


def test_datagrams_arrive_in_order_over_paths_of_5_and_50_ms():
    near, far = LinkSpec(bandwidth_bps=100_000_000, delay_s=0.005), LinkSpec(bandwidth_bps=100_000_000, delay_s=0.05)
    with net(near, far) as it:
        with Tunnel(it.h1, it.h2, TunnelSpec(run=1)) as tunnel:
            for host in (it.h1, it.h2):
                wait_until(
                    lambda host=host: tunnel.stats(host)["paths"][0]["lead_ns"] > 40e6, "delays to be measured", 30
                )
            output = ping(it.h1, tunnel.address(it.h2), "-c", "6", "-i", "0.05")
            least_ms = float(output.partition("rtt min/avg/max/mdev = ")[2].partition("/")[0])
            assert least_ms > 90, "as long on each path"
            came, twice, disorder, _ = it.datagrams(tunnel, 4000)
            assert (came, twice, disorder) == (4000, 0, 0)
            held = tunnel.stats(it.h2)["paths"][0]["held"]
            assert held > 1500, "what came over the short path had to wait"
        with Tunnel(it.h1, it.h2, TunnelSpec(run=1, reordering="off")) as tunnel:
            _, twice, disorder, _ = it.datagrams(tunnel, 4000)  # it ends with the last, which overtakes some
            assert twice == 0 and disorder > 1500


def test_lost_packets_hold_up_nobody_for_long_and_redundancy_saves_them():
    lossy = LinkSpec(bandwidth_bps=100_000_000, delay_s=0.002, loss=0.05)
    with net(lossy, lossy) as it:
        with Tunnel(it.h1, it.h2, TunnelSpec(run=1)) as tunnel:
            came, twice, disorder, _ = it.datagrams(tunnel, 4000)
            assert 3600 < came < 3960 and (twice, disorder) == (0, 0)
            wait_until(lambda: tunnel.stats(it.h2)["paths"][0]["rx_lost"] > 50, "losses to be counted", 30)
            wait_until(lambda: tunnel.stats(it.h1)["paths"][0]["tx_lost"] > 50, "losses to be told", 30)
        with Tunnel(it.h1, it.h2, TunnelSpec(scheduler="redundant")) as tunnel:
            came, twice, disorder, _ = it.datagrams(tunnel, 4000)
            assert came > 3970 and (twice, disorder) == (0, 0)


@pytest.mark.parametrize("offloads", [True, nightly(False)], ids=["offloads", "packet by packet"])
def test_a_service_time_delays_each_packet_limits_the_rate_and_fills_the_queue_before_it(offloads):
    slow = TunnelSpec(offloads=offloads, service_time_s=100e-6, reordering="off", run=1)
    with net(FAST, FAST) as it, Tunnel(it.h1, it.h2, slow) as tunnel:
        output = ping(it.h1, tunnel.address(it.h2), "-c", "5", "-i", "0.05")
        least_ms = float(output.partition("rtt min/avg/max/mdev = ")[2].partition("/")[0])
        assert least_ms == pytest.approx(2 * 0.5 + 4 * 0.1, abs=0.02), "two threads each way"
        seconds = it.transfer(tunnel, 3 * MEGABYTE)
        stats = tunnel.stats(it.h1)
        assert 0.9 * seconds < slow.service_time_s * stats["in_packets"] < seconds + 0.01

        def are_all_served() -> bool:
            """The last packets of the connection may still be in the tunnel when all of its data has come."""
            stats = tunnel.stats(it.h1)
            return stats["service_ns"]["uplink"] == 1e9 * slow.service_time_s * stats["in_packets"]

        wait_until(are_all_served, "each packet to have had its service time", 30)
        came, twice, disorder, _ = it.datagrams(tunnel, 4000, per_second=2 / slow.service_time_s)
        assert 2000 < came < 2700 and twice == disorder == 0, "half of them, and what waited in the device's queue"
        assert tunnel.service_seconds(it.h2) > 2000 * slow.service_time_s


def test_forged_and_malformed_datagrams_change_nothing_but_counters():
    with net(PATH) as it, Tunnel(it.h1, it.h2) as tunnel:
        before = tunnel.stats(it.h2)
        it.h1.run(program("forge", it.h1.address(0), it.h2.address(0), 200))

        def counted() -> bool:
            stats = tunnel.stats(it.h2)
            return stats["control"]["forged"] == 200 and stats["drops"]["malformed"] >= 600

        wait_until(counted, "all of them to be counted", 30)
        after = tunnel.stats(it.h2)
        assert after["control"]["malformed"] == 200
        for key in ("state", "ups", "downs", "mtu"):
            assert after["paths"][0][key] == before["paths"][0][key]
        assert after["out_packets"] == before["out_packets"] and tunnel.is_up()
        it.transfer(tunnel, MEGABYTE)


def test_status_is_for_people_and_for_programs():
    with net(PATH, PATH) as it, Tunnel(it.h1, it.h2) as tunnel:
        argv = [str(native.binary("mptgre"))]
        file = str(tunnel._ends[0].folder / "tunnel.conf")
        table = it.h1.run([*argv, "status", file])
        assert "path1" in table and "path2" in table and table.count(" up ") == 2
        stats = json.loads(it.h1.run([*argv, "status", file, "--json"]))
        assert [path["name"] for path in stats["paths"]] == ["path1", "path2"]
        assert all(3e6 < path["rtt_ns"] < 60e6 for path in stats["paths"])
        assert it.h1.run([*argv, "set", file, "path2", "weight=2.5"]).strip() == '{"ok":true}'
        assert tunnel.stats(it.h1)["paths"][1]["weight"] == 2.5
        assert it.h1.run([*argv, "check", file]).strip().endswith("good; 2 paths")


def test_what_cannot_work_is_refused_before_anything_is_made():
    with net(PATH) as it:
        with pytest.raises(UsageError, match="window"), Tunnel(it.h1, it.h2, TunnelSpec(window_packets=1)):
            pass
        with pytest.raises(UsageError, match="scheduler"):
            TunnelSpec(scheduler="best")
        it.h1.run(["ip", "address", "flush", "dev", it.h1.intfs[0].name])
        with pytest.raises(FlightpathError, match=r"path1.*give this host the address"), Tunnel(it.h1, it.h2):
            pass
        assert all("mpt0" not in host.run(["ip", "-br", "link"]) for host in (it.h1, it.h2))
        assert not list(Path(os.environ["TMPDIR"]).glob("flightpath-tunnel-*"))
