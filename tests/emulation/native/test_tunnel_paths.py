"""The paths and the ends of a tunnel fail, recover and change while packets flow, with peers of either kind."""

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import native
from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.waiting import wait_until
from tests.support.host_programs import program
from tests.support.killed import killed_at_end
from tests.support.orphans import orphaned
from tests.support.tunnel_net import FAST, MEGABYTE, PATH, Net, net, ping, running
from topologies.links.spec import LinkSpec
from topologies.testbed.tunnel import Tunnel, TunnelSpec

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]


def test_a_path_dies_in_the_middle_of_a_transfer_and_comes_back():
    with net(PATH, PATH) as it, Tunnel(it.h1, it.h2, TunnelSpec(run=1)) as tunnel:

        def states() -> set[str]:
            return {tunnel.stats(host)["paths"][0]["state"] for host in (it.h1, it.h2)}

        target = tunnel.address(it.h2)
        with running(it.h2, "count", target, "12000") as counter:
            sender = it.h1.popen(program("emit", target, 12000, 1000, 3000))
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


def test_a_killed_end_is_noticed_and_one_that_starts_again_is_recognised():
    with net(PATH) as it, Tunnel(it.h1, it.h2) as tunnel:
        end = tunnel._ends[1]
        end.process.kill()
        end.process.wait()
        assert "mpt0" not in it.h2.run(["ip", "-br", "link"]), "the device goes with the process"
        with pytest.raises(MeasurementFailed, match=r"h2.*SIGKILL: perhaps the kernel ran out of memory"):
            tunnel.stats(it.h1)
        with contextlib.ExitStack() as stack:
            tunnel._ends[1] = tunnel._start(end.host, 2, end.folder, stack)
            wait_until(lambda: tunnel.stats(it.h2)["paths"][0]["state"] == "up", "the new end to be up", 30)
            wait_until(lambda: tunnel.stats(it.h1)["paths"][0]["state"] == "up", "the old end to know it", 30)
            it.transfer(tunnel, MEGABYTE)


def test_weights_and_states_of_paths_change_while_packets_flow():
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


def test_weights_adapt_to_what_paths_can_carry():
    wide, narrow = LinkSpec(bandwidth_bps=80_000_000, delay_s=0.005), LinkSpec(bandwidth_bps=20_000_000, delay_s=0.005)
    with net(wide, narrow) as it, Tunnel(it.h1, it.h2, TunnelSpec(weights="adaptive")) as tunnel:
        target = tunnel.address(it.h2)
        sending = program("send", target, 60 * MEGABYTE)
        with running(it.h2, "receive", target, "1"), killed_at_end(it.h1.popen(sending)):
            wait_until(lambda: tunnel.stats(it.h1)["paths"][0]["share"] > 0.7, "the wide path to be preferred", 30)


def test_packets_of_just_the_mtu_pass_and_the_mtu_follows_the_paths():
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


def test_without_offloads_large_packets_arrive_after_the_path_has_grown():
    with net(FAST) as it, Tunnel(it.h1, it.h2, TunnelSpec(offloads=False)) as tunnel:
        for host in (it.h1, it.h2):
            host.run(["ip", "link", "set", "dev", host.intfs[0].name, "mtu", "9000"])
        wait_until(lambda: tunnel.stats(it.h1)["mtu"] == 9000 - 36, "the device to follow", 30)
        came, twice, disorder, _ = it.datagrams(tunnel, 1000, size=8900)
        assert (twice, disorder) == (0, 0)
        assert came >= 936, "at most one call's messages are lost, which show that buffers are too small"
        assert tunnel.stats(it.h2)["drops"]["malformed"] == 1000 - came


# Peers that send no authenticated keepalives


def configuration(it: Net, folder: Path, *, keepalive: str = "") -> Path:
    """The configuration of an end in h1 without keepalives of its own, over all paths."""
    file = folder / "plain.conf"
    paths = [f"[path]\nlocal = {it.h1.address(n)}\nremote = {it.h2.address(n)}\n" for n in range(len(it.h1.intfs))]
    file.write_text(
        f"[tunnel]\ndevice = mpt0\naddresses = 10.99.0.1/24\ncontrol = {folder}/control\n"
        f"[keepalive]\nenabled = false\n{keepalive}\n" + "".join(paths)
    )
    return file


@contextlib.contextmanager
def plain_end(it: Net, folder: Path, **options: str) -> Iterator[Path]:
    """Such an end; gives its configuration."""
    file = configuration(it, folder, **options)
    end = it.h1.popen([str(native.binary("mptgre")), "run", str(file)], stdout=subprocess.PIPE, text=True)
    try:
        assert end.stdout.readline() == "ready\n"
        yield file
    finally:
        end.terminate()
        assert end.wait(30) == 0
        end.stdout.close()


def status(it: Net, file: Path) -> dict[str, Any]:
    return json.loads(it.h1.run([str(native.binary("mptgre")), "status", str(file), "--json"]))


def received(output: str) -> int:
    return int(re.search(r"(\d+) received", output)[1])


def test_a_peer_that_starts_again_is_not_taken_for_copies_of_what_it_sent_before():
    with net(PATH, PATH) as it, Tunnel(it.h1, it.h2, TunnelSpec(keepalives=False)) as tunnel:
        target = tunnel.address(it.h2)
        assert received(ping(it.h1, target, "-c", "600", "-i", "0.002")) == 600
        end = tunnel._ends[1]
        end.process.kill()
        end.process.wait()
        with contextlib.ExitStack() as stack:
            tunnel._ends[1] = tunnel._start(end.host, 2, end.folder, stack)
            assert received(ping(it.h1, target, "-c", "100", "-i", "0.01")) > 80


def addresses(it: Net) -> list[str]:
    return [host.address(path) for path in (0, 1) for host in (it.h2, it.h1)]


def test_plain_keepalives_are_answered_and_show_which_paths_are_up(tmp_path):
    with (
        net(PATH, PATH) as it,
        running(it.h2, "reference", "0.4", *addresses(it)) as peer,
        plain_end(it, tmp_path, keepalive="answer_plain = true\ndead_ms = 2000") as file,
    ):
        assert {peer.stdout.readline() for _ in range(4)} == {"0\n", "1\n"}

        def states() -> list[str]:
            return [path["state"] for path in status(it, file)["paths"]]

        assert states() == ["up", "up"]
        it.link(1).set_black_hole(True)
        wait_until(lambda: states() == ["up", "down"], "the path to be found dead", 30)
        assert received(ping(it.h1, "10.99.0.2", "-c", "50", "-i", "0.01")) == 50
        it.link(1).set_black_hole(False)
        wait_until(lambda: states() == ["up", "up"], "the path to come back", 30)


def test_plain_keepalives_are_not_answered_unless_that_is_set(tmp_path):
    with (
        net(PATH, PATH) as it,
        running(it.h2, "reference", "0.1", *addresses(it)) as peer,
        plain_end(it, tmp_path) as file,
    ):
        wait_until(lambda: status(it, file)["control"]["malformed"] > 10, "keepalives to come", 30)
        peer.kill()
        assert peer.stdout.read() == ""


def test_it_ends_with_its_parent(tmp_path):
    with net(PATH) as it:
        with orphaned([native.binary("mptgre"), "run", configuration(it, tmp_path)], it.h1.popen):
            assert "mpt0" in it.h1.run(["ip", "-br", "link"])
        wait_until(lambda: "mpt0" not in it.h1.run(["ip", "-br", "link"]), "the device to go", 30)
        assert not (tmp_path / "control").exists()
