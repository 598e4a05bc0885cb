"""A network from Python: what can be done in it, and that it ends with whoever has started it."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from mininet.topo import Topo

import flightpath
from flightpath.commands import CommandFailed
from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from flightpath.processes import Process, descendants
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from results.records import Certificate, Verdict

LINK = "bw=50 delay=5ms queue=1bdp"


class Pair(Topo):
    """A topology as written for Mininet."""

    def build(self, delay="10ms"):
        self.addLink(self.addHost("left"), self.addHost("right"), bw=20, delay=delay)


@pytest.fixture(scope="module")
def net():
    with flightpath.Network("dtn_pair", link=LINK) as net:
        yield net


def test_it_has_hosts_and_addresses(net):
    assert net.hosts == ["dtn1", "dtn2"]
    assert (net.address("dtn2"), net.address("dtn2", family=6)) == ("10.0.0.2", "fd00::2")
    assert repr(net) == "<Network: hosts dtn1, dtn2; congestion control cubic>"


def test_programs_run_in_hosts_and_are_killed_if_they_take_too_long(net):
    done = net.run("dtn1", ["sh", "-c", "cat; ip -o -4 addr; echo problem >&2; exit 3"], input="given\n")
    assert isinstance(done, subprocess.CompletedProcess)
    assert (done.returncode, done.stderr) == (3, "problem\n")
    assert done.stdout.startswith("given\n") and "10.0.0.1/24" in done.stdout
    with pytest.raises(CommandFailed, match=r"dtn1: sh -c .* ended with exit code 3: problem"):
        net.run("dtn1", ["sh", "-c", "echo problem >&2; exit 3"], check=True)
    with pytest.raises(MeasurementFailed, match=r"no end after 0\.2 s"):
        net.run("dtn1", ["sh", "-c", "sleep 1234; true"], timeout=0.2)
    assert "sleep 1234" not in net.run("dtn1", ["ps", "-eo", "args"]).stdout


def test_a_program_runs_beside_others_until_it_is_stopped(net):
    with net.popen("dtn2", ["python3", "-u", "-m", "http.server", "80"]) as server:
        answer = ["curl", "-sf", "--retry", "20", "--retry-delay", "1", "--retry-connrefused", "http://10.0.0.2/"]
        assert "<html" in net.run("dtn1", answer, check=True).stdout
        with pytest.raises(MeasurementFailed, match="no end after"):
            server.wait(timeout=0.1)
    done = server.stop()
    assert done.returncode == -signal.SIGTERM and "10.0.0.1" in done.stderr
    assert server.wait() is done
    assert net.popen("dtn2", ["echo", "hello"]).wait().stdout == "hello\n"


def test_what_is_measured_is_the_network(net):
    ping = net.ping("dtn1", "dtn2", count=3, interval=0.1)
    assert 10 < ping.metrics["rtt_min"].value <= ping.metrics["rtt"].value
    assert ping.metrics["lost"].value == 0 and len(ping.series["rtt"].values) == 3
    iperf = net.iperf("dtn1", "dtn2", seconds=1, reverse=True)
    assert 0 < iperf.metrics["goodput"].value < 50e6
    transfer = net.transfer("dtn1", "dtn2", size="2MB")
    assert 0 < transfer.metrics["goodput"].value < 50e6
    with pytest.raises(MeasurementFailed, match=r"ping from dtn1 to 10\.0\.0\.2"):
        net.run("dtn2", ["ip", "link", "set", "dtn2-eth0", "down"], check=True)
        try:
            net.ping("dtn1", "dtn2", count=1)
        finally:
            net.run("dtn2", ["ip", "link", "set", "dtn2-eth0", "up"], check=True)
            net.run("dtn2", ["ip", "route", "replace", "10.0.0.0/24", "dev", "dtn2-eth0"], check=True)


def test_all_connections_and_subflows_have_the_congestion_control_of_the_network():
    with flightpath.Network("multipath_pair", paths=2, links="bw=20", congestion_control="reno") as net:
        net.iperf("h1", "h2", seconds=1, mptcp=True, reverse=True)
        used = net.certificate().found["congestion_control"]
    assert [set(used[host]) for host in ("h1", "h2")] == [{"reno"}] * 2


def test_a_ping_says_how_many_were_not_answered():
    # Few are lost, so that one of ARP's three questions is answered.
    with flightpath.Network("dtn_pair", link="loss=5%", switched=False) as net:
        ping = net.ping("dtn1", "dtn2", count=200, interval=0.01)
    answered = len(ping.series["rtt"].values)
    assert 0 < answered < 200 and ping.metrics["lost"].value == pytest.approx(100 * (200 - answered) / 200)
    times_s = ping.series["rtt"].times_s
    assert times_s[0] == 0 and list(times_s) == sorted(times_s) and times_s[-1] > 1.5, "when the answers came"


def test_links_say_what_they_are_and_what_they_carried(net):
    before = net.links
    net.transfer("dtn1", "dtn2", size="2MB")
    after = net.links
    (path,) = before.query("source == 's1' and target == 's2'").index
    row = after.loc[path]
    assert (row.bandwidth_bps, row.delay_ms, row.emulator) == (50e6, 5.0, "relay")
    assert row.carried_bytes - before.loc[path].carried_bytes > 1_000_000
    assert str(after.bandwidth_bps.dtype) == "float64" and str(after.dropped_packets.dtype) == "Int64"


def carried_bytes(certificate: Certificate) -> int:
    return sum(way["bytes"] for link in certificate.found["links_during_load"].values() for way in link.values())


def test_each_certificate_is_of_what_came_since_the_last(net):
    net.certificate()
    net.ping("dtn1", "dtn2")
    first = net.certificate()
    net.transfer("dtn1", "dtn2", size="2MB")
    second = net.certificate()
    net.ping("dtn1", "dtn2")
    third = net.certificate()
    assert all(isinstance(it.verdict, Verdict) and it.found["links_before_load"] for it in (first, second, third))
    assert 0 < carried_bytes(first) < 100_000 < 1_000_000 < carried_bytes(second)
    assert 0 < carried_bytes(third) < 100_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda net: net.ping("dtn1", "dtn3"), "there is no host 'dtn3' in this network\n  did you mean 'dtn2'"),
        (lambda net: net.run("dtn1", "ls -l"), "give program and arguments as a list: ['ls', '-l']"),
        (lambda net: net.iperf("dtn1", "dtn2", stream=4), "iperf has no option 'stream'\n  did you mean 'streams'"),
        (lambda net: net.iperf("dtn1", "dtn2", seconds=0), "seconds: a transfer of 0 s is too short"),
        (lambda net: net.transfer("dtn1", "dtn2", size="much"), "size: cannot read 'much'"),
        (lambda net: net.ping("dtn1", "dtn2", port=3), "dtn2 has no address on interface 3"),
        (lambda net: net.address("dtn1", port=1), "no such address"),
        (lambda net: net.start(), "the network has been started already"),
    ],
)
def test_mistakes_are_usage_errors_and_the_network_goes_on(net, call, message):
    with pytest.raises(UsageError) as error:
        call(net)
    assert message in str(error.value)
    assert net.run("dtn1", ["true"]).returncode == 0


def test_a_topology_written_for_mininet_works_and_starts_again_and_the_users_process_stays_where_it_is():
    here = [Path(f"/proc/self/ns/{kind}").readlink() for kind in ("net", "pid", "mnt")]
    net = flightpath.Network(Pair, delay="20ms")
    for _ in range(2):
        with net:
            assert net.run("left", ["readlink", "/proc/self/ns/net"]).stdout.strip() != str(here[0])
            assert [Path(f"/proc/self/ns/{kind}").readlink() for kind in ("net", "pid", "mnt")] == here
            assert net.ping("left", "right", count=2).metrics["rtt_min"].value > 40
    with pytest.raises(UsageError, match="the network does not run"):
        net.ping("left", "right")
    net.stop()


def test_a_part_that_dies_is_named():
    with flightpath.Network("dtn_pair", link=LINK) as net:
        net.ping("dtn1", "dtn2", count=1)
        relays = [it for it in descendants(net._process.pid) if "/relay" in it.command_line.split()[0]]
        for relay in relays:
            os.kill(relay.pid, signal.SIGKILL)
        assert relays
        with pytest.raises(FlightpathError, match="relay"):
            net.ping("dtn1", "dtn2", count=1)


def _stopped_at_a_retransmission(net: flightpath.Network) -> list[float]:
    """Stops a transfer at events and a moment; returns when."""
    counter = ["sh", "-c", "nstat -asz TcpRetransSegs | awk '/^Tcp/ {print $2}'"]

    def all_hosts() -> int:
        return sum(int(net.run(host, counter).stdout) for host in ("dtn1", "dtn2"))

    with net.popen("dtn2", ["iperf3", "-s"]), net.popen("dtn1", ["iperf3", "-c", net.address("dtn2"), "-t", "3"]):
        before, stops, after = all_hosts(), [net.stop_at("retransmission")], all_hosts()
        assert before < after < before + 20, "it stands still soon after the first one"
        stops.append(net.stop_at("queue s1-s2 > 0.1%"))
        stops.append(net.stop_at(f"{stops[-1] + 0.01:.9f}s"))
        assert stops[0] < stops[1] and 0 <= stops[2] - stops[1] - 0.01 < 1e-3
        with pytest.raises(UsageError, match="is over: it is"):
            net.stop_at("0.01s")
        with pytest.raises(UsageError, match="did you mean 'retransmission'"):
            net.stop_at("retransmision")
        with pytest.raises(MeasurementFailed, match=r"no .link down. within 0\.01 s"):
            net.stop_at("link down", limit="10ms")
    return stops


@pytest.mark.starts_kernels
def test_in_virtual_time_the_same_calls_give_the_same_figures_and_the_clock_stands_still_between_them():
    runs = []
    for pause_s in (0, 0.5):
        with flightpath.Network("dtn_pair", link="bw=20 delay=5ms loss=1%", clock="virtual", seed=3) as net:
            readings = []
            for _ in range(2):
                readings.append(float(net.run("dtn1", ["date", "+%s.%N"]).stdout))
                time.sleep(pause_s)
            with net.popen("dtn1", ["sh", "-c", "sleep 0.05; date"]) as waiting:
                net.step("10ms")
                with pytest.raises(MeasurementFailed, match="no end after 0 s"):
                    waiting.wait(timeout=0)
                net.step("60ms")
                assert waiting.wait(timeout=0).stdout
            goodput = net.iperf("dtn1", "dtn2", seconds=1)
            stops = _stopped_at_a_retransmission(net)
            with pytest.raises(MeasurementFailed, match="no end after 300 s"):
                net.run("dtn1", ["sleep", "400"], timeout=300)
            with pytest.raises(UsageError):
                net.ping("dtn1", "dtn2", port=7)
            runs.append((readings, goodput, stops, net.certificate().verdict, net.links.to_csv()))
            os.kill(net._process.pid, signal.SIGKILL)
            with pytest.raises(MeasurementFailed, match="kernel has ended before the command"):
                net.run("dtn1", ["true"])
    assert runs[0] == runs[1]
    (first, second), _, _, verdict, _ = runs[0]
    assert second - first < 0.01 and verdict is Verdict.FAITHFUL


USER = """
    import sys, time, flightpath
    net = flightpath.Network("dtn_pair", link="bw=50 delay=5ms", clock=sys.argv[1]).start()
    net.popen("dtn1", ["sleep", "4321"])
    print("started", flush=True)
    try:
        net.run("dtn1", [sys.executable, "-c", "while True: pass # 1000"], timeout=1000)
    except KeyboardInterrupt:
        print("interrupted", repr(net), flush=True)
"""


def started_by_a_user(folder: Path, clock: str = "real") -> tuple[subprocess.Popen, list[Process]]:
    """A process of a user who has a network, and all processes below it."""
    script = folder / "user.py"
    script.write_text(textwrap.dedent(USER))
    how = {"stdout": subprocess.PIPE, "text": True, "env": {**os.environ, "PYTHONPATH": str(PROJECT)}}
    user = subprocess.Popen([sys.executable, str(script), clock], **how, start_new_session=True)
    assert user.stdout.readline() == "started\n"
    if clock == "real":
        wait_until(lambda: any("# 1000" in it.command_line for it in descendants(user.pid)), "its program", 20)
    return user, descendants(user.pid)


@pytest.mark.parametrize("clock", ["real", pytest.param("virtual", marks=pytest.mark.starts_kernels)])
def test_it_ends_with_its_users_process(tmp_path, clock):
    user, processes = started_by_a_user(tmp_path, clock)
    assert len(processes) > 5
    user.kill()
    user.communicate(timeout=20)
    wait_until(lambda: not any(it.is_alive() for it in processes), "the end of all processes", 20)


def test_ctrl_c_ends_a_call_and_the_network(tmp_path):
    user, processes = started_by_a_user(tmp_path)
    began = time.monotonic()
    user.send_signal(signal.SIGINT)
    output, _ = user.communicate(timeout=20)
    assert output == "interrupted <Network: not running>\n" and time.monotonic() - began < 15
    assert not any(it.is_alive() for it in processes)
