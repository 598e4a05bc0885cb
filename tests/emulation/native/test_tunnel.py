"""The tunnel between two real network stacks: data arrives unchanged, counters agree, paths fail and recover."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import native
from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.testbed.testbed import Testbed
from topologies.testbed.tunnel import Tunnel, TunnelSpec

pytestmark = [pytest.mark.alone, pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="needs /dev/net/tun")]

PROGRAMS = [sys.executable, str(PROJECT / "tests" / "support" / "tunnel_programs.py")]
PATH = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.002)
FAST = LinkSpec(bandwidth_bps=1_000_000_000, delay_s=0.0005)
MEGABYTE = 1_000_000


@contextlib.contextmanager
def running(host: MultihomedHost, *argv: str) -> Iterator[subprocess.Popen]:
    """A program of tunnel_programs.py that listens, in a host."""
    process = host.popen([*PROGRAMS, *argv], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "listening\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Net:
    """Two hosts and the paths between them."""

    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed
        self.h1, self.h2 = testbed.host("h1"), testbed.host("h2")

    def link(self, path: int):
        return self.testbed.link("h1", path)

    def carried(self) -> list[int]:
        """Bytes that each path has carried from h1 to h2."""
        return [self.link(path).stats()["directions"]["a_to_b"]["out_bytes"] for path in range(len(self.testbed.links))]

    def transfer(self, tunnel: Tunnel, size: int, family: int = 4) -> float:
        """A TCP transfer through the tunnel, compared byte by byte; returns its seconds."""
        target = tunnel.address(self.h2, family)
        with running(self.h2, "receive", target, str(size)) as receiver:
            start = time.monotonic()
            self.h1.run([*PROGRAMS, "send", target, str(size)])
            assert receiver.stdout.readline() == "same\n"
            return time.monotonic() - start

    def datagrams(self, tunnel: Tunnel, total: int, size: int = 1000, per_second: int = 2000) -> list[int]:
        """Numbers of datagrams that came, came twice, and came out of order, and the longest pause in ns."""
        target = tunnel.address(self.h2)
        with running(self.h2, "count", target, str(total)) as counter:
            self.h1.run([*PROGRAMS, "emit", target, str(total), str(size), str(per_second)])
            return [int(word) for word in counter.stdout.readline().split()]


@contextlib.contextmanager
def net(*links: LinkSpec) -> Iterator[Net]:
    with Testbed(MultipathPair(paths=len(links), links=list(links), mptcp=False), emulator="relay") as testbed:
        yield Net(testbed)


def ping(host: MultihomedHost, target: str, *options: str) -> str:
    return host.run(["ping", "-n", "-q", "-c", "1", "-W", "5", *options, target])


def test_ipv4_and_ipv6_inside_and_outside_over_both_paths(sandboxed):
    def body() -> None:
        with net(FAST, FAST) as it:
            for outside in (4, 6):
                with Tunnel(it.h1, it.h2, TunnelSpec(family=outside)) as tunnel:
                    for inside in (4, 6):
                        before = it.carried()
                        it.transfer(tunnel, 20 * MEGABYTE, inside)
                        grown = [now - then for now, then in zip(it.carried(), before, strict=True)]
                        assert min(grown) > 8 * MEGABYTE, grown
                    stats = tunnel.stats(it.h2)
                    expected = 1500 - (20 if outside == 4 else 40) - 8 - 8
                    assert stats["mtu"] == tunnel.stats(it.h1)["mtu"] == expected
                    assert sum(stats["drops"].values()) == stats["drops"]["no_path"], stats["drops"]
                    assert sum(stats["control"].values()) == stats["control"]["greetings"]

    sandboxed(body)


@pytest.mark.parametrize("reordering", ["off", "adaptive"])
def test_one_packet_a_call_gives_the_same_results(sandboxed, reordering):
    def body() -> None:
        with net(PATH, PATH) as it, Tunnel(it.h1, it.h2, TunnelSpec(offloads=False, reordering=reordering)) as tunnel:
            it.transfer(tunnel, 5 * MEGABYTE)
            stats = tunnel.stats(it.h1)
            assert stats["offloads"] is False and stats["mtu"] == (1468 if reordering == "off" else 1464)
            assert min(path["tx_packets"] for path in stats["paths"]) > 1500

    sandboxed(body)


def test_sanitized_builds_carry_loss_reordering_and_all_sizes_cleanly(sandboxed):
    bad = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.003, loss=0.01, jitter_s=0.001, reordering=True)

    subprocess.run(["make", "--silent", "-C", Path(native.__file__).parent, "build/mptgre-asan"], check=True)

    def body() -> None:
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

    sandboxed(body)


def test_datagrams_arrive_in_order_over_paths_of_5_and_50_ms(sandboxed):
    near, far = LinkSpec(bandwidth_bps=100_000_000, delay_s=0.005), LinkSpec(bandwidth_bps=100_000_000, delay_s=0.05)

    def body() -> None:
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

    sandboxed(body)


def test_lost_packets_hold_up_nobody_for_long_and_redundancy_saves_them(sandboxed):
    lossy = LinkSpec(bandwidth_bps=100_000_000, delay_s=0.002, loss=0.05)

    def body() -> None:
        with net(lossy, lossy) as it:
            with Tunnel(it.h1, it.h2, TunnelSpec(run=1)) as tunnel:
                came, twice, disorder, _ = it.datagrams(tunnel, 4000)
                assert 3600 < came < 3960 and (twice, disorder) == (0, 0)
                wait_until(lambda: tunnel.stats(it.h2)["paths"][0]["rx_lost"] > 50, "losses to be counted", 30)
                wait_until(lambda: tunnel.stats(it.h1)["paths"][0]["tx_lost"] > 50, "losses to be told", 30)
            with Tunnel(it.h1, it.h2, TunnelSpec(scheduler="redundant")) as tunnel:
                came, twice, disorder, _ = it.datagrams(tunnel, 4000)
                assert came > 3970 and (twice, disorder) == (0, 0)

    sandboxed(body)


def test_a_path_dies_in_the_middle_of_a_transfer_and_comes_back(sandboxed):
    def body() -> None:
        with net(PATH, PATH) as it, Tunnel(it.h1, it.h2, TunnelSpec(run=1)) as tunnel:

            def states() -> set[str]:
                return {tunnel.stats(host)["paths"][0]["state"] for host in (it.h1, it.h2)}

            target = tunnel.address(it.h2)
            with running(it.h2, "count", target, "12000") as counter:
                sender = it.h1.popen([*PROGRAMS, "emit", target, "12000", "1000", "3000"])
                wait_until(lambda: tunnel.stats(it.h2)["out_packets"] > 1000, "packets to flow", 30)
                it.link(0).set_black_hole(True)
                start = time.monotonic()
                wait_until(lambda: states() == {"down"}, "both ends to notice", 30)
                assert time.monotonic() - start < 1
                before = it.carried()
                wait_until(lambda: it.carried()[1] - before[1] > MEGABYTE, "the other path to carry all", 30)
                it.link(0).set_black_hole(False)
                wait_until(lambda: states() == {"up"}, "the path to come back", 30)
                before = it.carried()
                wait_until(lambda: it.carried()[0] - before[0] > MEGABYTE // 2, "the path to be used again", 30)
                came, twice, _, pause_ns = [int(word) for word in counter.stdout.readline().split()]
                assert sender.wait(30) == 0
            # Half of what was sent until the failure was noticed is lost, and nothing else.
            assert 12000 - 1700 < came < 12000 and twice == 0
            assert pause_ns < 0.7e9
            paths = tunnel.stats(it.h1)["paths"]
            assert [(path["ups"], path["downs"]) for path in paths] == [(2, 1), (1, 0)]

    sandboxed(body)


def test_a_killed_end_is_noticed_and_one_that_starts_again_is_recognised(sandboxed):
    def body() -> None:
        with net(PATH) as it, Tunnel(it.h1, it.h2) as tunnel:
            end = tunnel._ends[1]
            end.process.kill()
            end.process.wait()
            assert "mpt0" not in it.h2.run(["ip", "-br", "link"]), "the device goes with the process"
            with pytest.raises(MeasurementFailed, match="h2"):
                tunnel.stats(it.h1)
            (end.folder / "control").unlink()
            with contextlib.ExitStack() as stack:
                tunnel._ends[1] = tunnel._start(end.host, 2, end.folder, stack)
                wait_until(lambda: tunnel.stats(it.h2)["paths"][0]["state"] == "up", "the new end to be up", 30)
                wait_until(lambda: tunnel.stats(it.h1)["paths"][0]["state"] == "up", "the old end to know it", 30)
                it.transfer(tunnel, MEGABYTE)

    sandboxed(body)


def test_it_ends_with_its_parent(sandboxed):
    script = (
        "import subprocess, sys, time\n"
        "tunnel = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)\n"
        "tunnel.stdout.readline(); print(tunnel.pid, flush=True); time.sleep(60)\n"
    )

    def body() -> None:
        with net(PATH) as it:
            tunnel = Tunnel(it.h1, it.h2)
            folder = Path("/run/flightpath/orphan")
            with contextlib.ExitStack() as stack:
                stack.enter_context(tunnel)
                folder.mkdir()
                first = tunnel._ends[0].folder
                text = (first / "tunnel.conf").read_text().replace("device = mpt0", "device = mpt1")
                text = text.replace("4754", "4755").replace(str(first), str(folder)).replace("10.99.0", "10.98.0")
                (folder / "tunnel.conf").write_text(text.replace("fd99:", "fd98:"))
                (folder / "key").touch(mode=0o600)
                (folder / "key").write_text("k" * 32)
                argv = [str(native.binary("mptgre")), "run", str(folder / "tunnel.conf")]
                parent = it.h1.popen([sys.executable, "-c", script, *argv], stdout=subprocess.PIPE, text=True)
                pid = int(parent.stdout.readline())
                assert "mpt1" in it.h1.run(["ip", "-br", "link"])
                parent.kill()
                parent.wait()
                wait_until(lambda: "mpt1" not in it.h1.run(["ip", "-br", "link"]), "the device to go", 30)
                wait_until(lambda: not (folder / "control").exists(), "its socket to go", 30)
                wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the process to be gone", 30)

    sandboxed(body)


def test_weights_and_states_of_paths_change_while_packets_flow(sandboxed):
    def body() -> None:
        with net(FAST, FAST) as it, Tunnel(it.h1, it.h2, TunnelSpec(run=1, path_weights=[3, 1])) as tunnel:

            def shares() -> list[float]:
                before = it.carried()
                it.datagrams(tunnel, 2000, per_second=8000)
                grown = [now - then for now, then in zip(it.carried(), before, strict=True)]
                return [share / sum(grown) for share in grown]

            assert shares() == pytest.approx([0.75, 0.25], abs=0.02)
            tunnel.set_path(0, weight=0.25)
            assert shares() == pytest.approx([0.2, 0.8], abs=0.02)
            tunnel.set_path(1, it.h2, enabled=False)
            wait_until(lambda: tunnel.stats(it.h1)["paths"][1]["state"] == "down", "h1 to be told", 30)
            assert tunnel.stats(it.h2)["paths"][1]["state"] == "disabled"
            assert shares()[1] < 0.02
            tunnel.set_path(1, enabled=True)
            tunnel.set_path(0, backup=True)
            wait_until(tunnel.is_up, "the path to come back", 30)
            assert shares()[0] < 0.02
            tunnel.set_path(1, enabled=False)
            assert shares()[1] < 0.02
            for wrong in ({"weight": 0}, {"speed": 1}, {"backup": 2}):
                with pytest.raises(FlightpathError):
                    tunnel.set_path(0, **wrong)
            with pytest.raises(FlightpathError, match="path9"):
                tunnel.set_path(8, weight=1)

    sandboxed(body)


def test_weights_adapt_to_what_paths_can_carry(sandboxed):
    wide, narrow = LinkSpec(bandwidth_bps=80_000_000, delay_s=0.005), LinkSpec(bandwidth_bps=20_000_000, delay_s=0.005)

    def body() -> None:
        with net(wide, narrow) as it, Tunnel(it.h1, it.h2, TunnelSpec(weights="adaptive")) as tunnel:
            target = tunnel.address(it.h2)
            with running(it.h2, "receive", target, "1"):
                sender = it.h1.popen([*PROGRAMS, "send", target, str(500 * MEGABYTE)])
                try:
                    wait_until(
                        lambda: tunnel.stats(it.h1)["paths"][0]["share"] > 0.7, "the wide path to be preferred", 30
                    )
                finally:
                    sender.kill()
                    sender.wait()

    sandboxed(body)


def test_packets_of_just_the_mtu_pass_and_the_mtu_follows_the_paths(sandboxed):
    def body() -> None:
        narrow = LinkSpec(bandwidth_bps=100_000_000, mtu_bytes=1400)
        with net(FAST, narrow) as it, Tunnel(it.h1, it.h2, TunnelSpec(run=1)) as tunnel:
            target = tunnel.address(it.h2)

            def fits(size: int) -> bool:
                with contextlib.suppress(FlightpathError):
                    ping(it.h1, target, "-M", "do", "-s", str(size - 28), "-c", "4", "-i", "0.05", "-W", "1")
                    return True
                return False

            assert tunnel.stats(it.h1)["mtu"] == 1400 - 36
            assert fits(1364) and not fits(1365)
            ping(it.h1, target, "-s", "4000")  # fragments, inside
            it.transfer(tunnel, 2 * MEGABYTE)
            for host in (it.h1, it.h2):
                host.run(["ip", "link", "set", "dev", host.intfs[1].name, "mtu", "1300"])
            for host in (it.h1, it.h2):
                wait_until(lambda host=host: tunnel.stats(host)["mtu"] == 1300 - 36, "the device to follow", 30)
            assert fits(1264) and not fits(1265)
            it.transfer(tunnel, 2 * MEGABYTE)
            tunnel.set_path(1, enabled=False)
            wait_until(lambda: tunnel.stats(it.h1)["mtu"] == 1464, "a path that is not used to set no limit", 30)
            assert fits(1464)

    sandboxed(body)


def test_forged_and_malformed_datagrams_change_nothing_but_counters(sandboxed):
    def body() -> None:
        with net(PATH) as it, Tunnel(it.h1, it.h2) as tunnel:
            before = tunnel.stats(it.h2)
            it.h1.run([*PROGRAMS, "forge", it.h1.address(0), it.h2.address(0), "200"])

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

    sandboxed(body)


def interop_configuration(folder: Path, it: Net, mode: str) -> Path:
    text = f"""
        [tunnel]
        device = mpt0
        addresses = 10.99.0.1/24
        [reordering]
        mode = {mode}
        [keepalive]
        enabled = false
        [path]
        local = {it.h1.address(0)}
        remote = {it.h2.address(0)}
    """
    (folder / "plain.conf").write_text(text)
    return folder / "plain.conf"


@pytest.mark.parametrize("mode", ["off", "fixed"])
def test_it_talks_to_another_implementation_of_the_wire_format(sandboxed, tmp_path, mode):
    def body() -> None:
        with net(PATH) as it:
            sequenced = "0" if mode == "off" else "1"
            file = interop_configuration(tmp_path, it, mode)
            with running(it.h2, "echo", it.h2.address(0), it.h1.address(0), sequenced):
                end = it.h1.popen([str(native.binary("mptgre")), "run", str(file)], stdout=subprocess.PIPE, text=True)
                try:
                    assert end.stdout.readline() == "ready\n"
                    ping(it.h1, "10.99.0.2", "-c", "5", "-i", "0.05")
                    ping(it.h1, "10.99.0.2", "-c", "2", "-i", "0.05", "-s", "1400")
                finally:
                    end.terminate()
                    assert end.wait(30) == 0

    sandboxed(body)


def test_status_is_for_people_and_for_programs(sandboxed):
    def body() -> None:
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

    sandboxed(body)


def test_what_cannot_work_is_refused_before_anything_is_made(sandboxed):
    def body() -> None:
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

    sandboxed(body)
