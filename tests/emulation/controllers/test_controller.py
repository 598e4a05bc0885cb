"""The controller with real switches of Open vSwitch's user datapath, and steering as users of Ryu start it."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path

import pytest

from controllers.network.description import Network, Switch
from controllers.openflow.rules import forwarding_rules
from controllers.view.client import View
from flightpath.commands import run
from flightpath.errors import MeasurementFailed
from flightpath.launcher import project_python
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.killed import killed_at_end
from tests.support.orphans import orphaned
from tests.support.steering_tools import Transfer, fabric, kill_controller, serving, start_controller
from topologies.dtn_pair import DtnPair
from topologies.hosts.multihomed import MultihomedHost
from topologies.hosts.neighbours import make_permanent
from topologies.sandbox import kernel_settings, sandbox
from topologies.testbed.controller import describe
from topologies.testbed.testbed import Testbed

SWITCHES = ("s1", "s2")
SOURCE, TARGET, OTHER = "dtn1", "dtn2", "x1"
"""Two hosts of a connection; another one on the source's switch."""
DESCRIPTORS, CONNECTIONS = 40, 60
SIZE = 16_000_000
OPENFLOW_PORT, REST_PORT = 6700, 8700
HELLO = bytes.fromhex("0400000800000001")  # OpenFlow 1.3, OFPT_HELLO

pytestmark = [
    pytest.mark.in_sandbox,
    pytest.mark.skipif(shutil.which("ovs-vswitchd") is None, reason="needs Open vSwitch"),
]


def network() -> Testbed:
    return Testbed(DtnPair(cross_traffic=1), datapath="user")


def ping(host: MultihomedHost, target: str, *options: str) -> str:
    return host.run(["ping", "-n", "-q", "-W", "5", "-c", "1", *options, target])


def ping_all(testbed: Testbed) -> None:
    """Pings over IPv4 and IPv6 with empty neighbour caches."""
    for host in testbed.net.hosts:
        host.run(["ip", "neigh", "flush", "nud", "all"])
        assert host.run(["ip", "neigh", "show", "nud", "reachable", "nud", "stale", "nud", "permanent"]) == ""
    for source, target in permutations(testbed.net.hosts, 2):
        for address in target.addresses[0]:
            ping(source, str(address.ip))


def mac(testbed: Testbed, host: str) -> str:
    return testbed.host(host).intfs[0].MAC()


def ofctl(*words: str) -> str:
    return run(["ovs-ofctl", "-O", "OpenFlow13", *words])


def rules_in(switch: str) -> list[str]:
    """The switch's rules, without counters and without rules that expire by themselves."""
    rules = [line.strip() for line in ofctl("--no-stats", "dump-flows", switch).splitlines() if "priority" in line]
    return sorted(rule for rule in rules if "hard_timeout" not in rule)


def packets(switch: str, match: str) -> int:
    lines = [line for line in ofctl("dump-flows", switch).splitlines() if match in line]
    return sum(int(re.search(r"n_packets=(\d+)", line)[1]) for line in lines)


def received(testbed: Testbed, name: str) -> int:
    host = testbed.host(name)
    (link,) = json.loads(host.run(["ip", "-s", "-j", "link", "show", "dev", host.intfs[0].name]))
    return link["stats64"]["rx"]["packets"]


def test_all_hosts_reach_each_other_and_nobody_else_gets_a_copy_with_and_without_a_controller():
    with network() as testbed:
        ping_all(testbed)
        make_permanent(testbed.net.hosts)  # for an entry that was used, a host asks again, alone, some seconds later
        for host in testbed.net.hosts:
            host.run(["ip", "neigh", "flush", "all"])  # the others, by link-local addresses
        described = describe(testbed.net)
        for switch in described.switches:
            assert len(rules_in(switch.name)) == len(forwarding_rules(described, switch))
        before, before_target = received(testbed, OTHER), received(testbed, TARGET)
        for address in testbed.host(TARGET).addresses[0]:
            ping(testbed.host(SOURCE), str(address.ip), "-c", "10", "-i", "0.01")
        assert received(testbed, TARGET) - before_target >= 20
        assert received(testbed, OTHER) == before
        assert_one_cached_decision_serves_all_connections(testbed)
        kill_controller(testbed)
        ping_all(testbed)  # even with empty neighbour caches


def assert_one_cached_decision_serves_all_connections(testbed: Testbed) -> None:
    macs = f"dl_src={mac(testbed, SOURCE)},dl_dst={mac(testbed, TARGET)}"
    for endpoints in ("tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2", "tcp6,ipv6_src=fd00::1,ipv6_dst=fd00::2"):
        flow = f"in_port=1,{endpoints},{macs},tp_src=1000,tp_dst=80"
        megaflow = re.search(r"Megaflow: (.*)", run(["ovs-appctl", "ofproto/trace", "s1", flow]))[1]
        assert f"dl_dst={mac(testbed, TARGET)}" in megaflow
        for narrow in ("nw_src", "nw_dst", "ipv6_src", "ipv6_dst", "tp_src", "tp_dst", "dl_src"):
            assert narrow not in megaflow


def test_a_restart_changes_no_rule_and_loses_no_packet():
    with network() as testbed:
        before = [rules_in(switch) for switch in SWITCHES]
        log = sandbox.TEMPORARY / "ping.log"
        with log.open("w") as output:
            argv = ["ping", "-n", "-i", "0.005", testbed.host(TARGET).address()]
            pinging = testbed.host(SOURCE).popen(argv, stdout=output)

        def answered() -> set[int]:
            return set(map(int, re.findall(r"icmp_seq=(\d+) ttl", log.read_text())))

        towards_target = f"dl_dst={mac(testbed, TARGET)}"
        wait_until(lambda: packets("s1", towards_target) > 50, "packets counted by the rule", 20)
        counted = packets("s1", towards_target)
        kill_controller(testbed)
        start_controller(testbed)
        assert packets("s1", towards_target) >= counted, "a new rule counts from 0"
        at_ready = len(answered())
        wait_until(lambda: len(answered()) > at_ready + 10, "answers after the restart", 20)
        assert [rules_in(switch) for switch in SWITCHES] == before
        pinging.send_signal(signal.SIGINT)
        pinging.wait(20)
        # Those on their way when ping gets the signal do not count: several, on a busy machine.
        assert answered() == set(range(1, max(answered()) + 1))


def test_what_is_not_wanted_any_more_is_deleted():
    with network() as testbed:
        ofctl("add-flow", "s1", "table=3,cookie=0x1234,priority=7,ip,actions=drop")
        ofctl("add-flow", "s1", "cookie=0,priority=65000,actions=flood")
        kill_controller(testbed)
        testbed.net.hosts.remove(testbed.host(OTHER))
        start_controller(testbed)
        smaller = describe(testbed.net)
        rules = rules_in("s1")
        assert len(rules) == len(forwarding_rules(smaller, smaller.switches[0]))
        text = "\n".join(rules).lower()
        assert "flood" not in text and testbed.net[OTHER].intfs[0].MAC() not in text
        ping(testbed.host(SOURCE), testbed.host(TARGET).address())


def test_a_refused_rule_is_an_error_and_the_switch_is_never_ready():
    with network() as testbed:
        kill_controller(testbed)
        ofctl("del-flows", "s1")
        limit = ["--id=@full", "create", "Flow_Table", "flow_limit=3"]
        run(["ovs-vsctl", "--", *limit, "--", "set", "bridge", "s1", "flow_tables:0=@full"])
        with pytest.raises(MeasurementFailed, match=r"ended with exit code 1; (?s:.*)switch s1 refused") as refused:
            start_controller(testbed)
        assert "Traceback" not in str(refused.value)
        assert not any("switch s1 ready" in line for line in testbed.controller._output)


def test_it_outlives_the_thread_that_started_it():
    with network() as testbed:
        kill_controller(testbed)
        thread = threading.Thread(target=start_controller, args=[testbed])
        thread.start()
        thread.join()
        wait_until(lambda: not Path(f"/proc/self/task/{thread.native_id}").exists(), "the end of the thread", 20)
        controller = testbed.controller
        run(["ovs-vsctl", "del-controller", "s1"])
        run(["ovs-vsctl", "set-controller", "s1", f"tcp:{controller.ip}:{controller.port}"])

        def times_ready() -> int:
            return sum(line.startswith("switch s1 ready") for line in controller._output)

        wait_until(lambda: times_ready() == 2, "its answer to a switch", 20, check=controller.check)


@pytest.fixture
def command(tmp_path) -> list[str]:
    """A controller of one switch, on any port."""
    path = tmp_path / "network.json"
    path.write_text(Network((Switch("s1", 1),)).to_json())
    return [sys.executable, "-m", "controllers", "--network", str(path), "--listen", "127.0.0.1:0"]


def started(command: list[str]) -> tuple[subprocess.Popen, str]:
    """The process, and where it listens."""
    kernel_settings.bring_up("lo")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=PROJECT, **pipes)
    return process, process.stdout.readline().removeprefix("listening on ").strip()


def test_the_end_is_quiet_on_sigterm_and_sigint(command):
    for how in (signal.SIGTERM, signal.SIGINT):
        process, _ = started(command)
        process.send_signal(how)
        _, output = process.communicate(timeout=30)
        assert (process.returncode, "Traceback" in output) == (0, False), output


def test_a_signal_ends_it_that_comes_as_its_event_loop_begins_to_wait():
    """Python calls no handler then: here because the main thread never takes the signal. A child ends by itself."""
    python = "import os, signal, time; from controllers.parent_death import end_with_parent; end_with_parent(); "
    python += "child = os.fork() or time.sleep(30); os.kill(child, 15); assert os.wait()[1] == 15; "
    python += "signal.pthread_sigmask(signal.SIG_BLOCK, [15]); os.kill(os.getpid(), 15); time.sleep(30); os._exit(1)"
    subprocess.run([sys.executable, "-c", python], cwd=PROJECT, check=True, timeout=40)


def test_a_taken_port_is_a_clear_error(command):
    first, address = started(command)
    with killed_at_end(first):
        second, _ = started([*command[:-1], address])
        _, output = second.communicate(timeout=60)  # a second of processor time, which took ten beside busy loops
    assert f"cannot listen on {address}: Address already in use" in output
    assert (second.returncode, "Traceback" in output) == (2, False)


def test_it_ends_with_its_parent(command):
    kernel_settings.bring_up("lo")
    with orphaned(command):
        pass


def test_it_accepts_connections_again_when_it_has_file_descriptors_again(command):
    """To a switch it says hello, and who asks for its view gets an answer."""
    for place in (0, 1):
        process, first = started([*command, "--policy", "--rest", "127.0.0.1:0"])
        ports = {line: int(line.rpartition(":")[2]) for line in (first, process.stdout.readline())}
        switch, view = (("127.0.0.1", port) for _, port in sorted(ports.items()))
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        crowd = [socket.create_connection((switch, view)[place], timeout=10) for _ in range(CONNECTIONS)]
        assert "Too many open files" in process.stderr.readline()
        crowd[0].close()  # another one is accepted in its place, and the next one is not
        crowd.append(socket.create_connection((view, switch)[place], timeout=10))  # nor here
        time.sleep(1)  # for ten further attempts
        for one in crowd[1:]:
            one.close()
        with socket.create_connection(switch, timeout=20) as connection:
            connection.sendall(HELLO)
            assert connection.recv(2) == HELLO[:2]
        assert View("http://{}:{}".format(*view)).metrics()
        process.kill()
        _, output = process.communicate()
        assert "cannot accept" not in output, "it says so once, not at each attempt"


@contextmanager
def manager(testbed: Testbed) -> Iterator[View]:
    """Gives the testbed's switches, emptied, to an osken-manager with steering."""
    settings = {"FLIGHTPATH_POLICY": "disjoint", "FLIGHTPATH_REST": f"127.0.0.1:{REST_PORT}"}
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), **settings}
    listen = ["--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", str(OPENFLOW_PORT)]
    argv = [str(Path(project_python()).with_name("osken-manager")), *listen, "controllers/steering.py"]
    log = sandbox.TEMPORARY / "manager.log"
    with log.open("w") as output:
        process = subprocess.Popen(argv, cwd=PROJECT, env=environment, stdout=output, stderr=subprocess.STDOUT)
    with killed_at_end(process):
        wait_until(lambda: f":{OPENFLOW_PORT} " in run(["ss", "-Htln"]), "osken-manager to listen", 30)
        for switch in testbed.net.switches:
            run(["ovs-ofctl", "-O", "OpenFlow13", "del-flows", switch.name])
            run(["ovs-vsctl", "set-controller", switch.name, f"tcp:127.0.0.1:{OPENFLOW_PORT}"])
        yield View(f"http://127.0.0.1:{REST_PORT}")
        assert process.poll() is None
        assert "Traceback" not in log.read_text(), log.read_text()


def test_osken_manager_finds_the_network_and_gives_each_subflow_a_path_of_its_own():
    def paths(view: View) -> list[tuple[str, list[str]]]:
        return [
            (connection["token"], subflow["switches"])
            for connection in view.connections()["connections"]
            for subflow in connection["subflows"]
        ]

    with Testbed(fabric(mptcp=True)) as testbed, manager(testbed) as view:
        client, server = testbed.host("h1"), testbed.host("h2")
        wait_until(lambda: len(view.topology()["links"]) == 4, "all links to be found", 30)
        for plane in (0, 1):
            client.run(["ping", "-n", "-c", "1", "-w", "20", server.address(plane)])
        with serving(server, "10.0.1.2"):
            transfer = Transfer(client, "10.0.1.2", SIZE)
            transfer.wait_begun()
            with transfer.paused():  # or it may end before the controller has seen both
                wait_until(lambda: len(paths(view)) == 2, "two subflows on two paths", 20)
                ((token, one), (same, other)) = paths(view)
            assert token == same
            assert not set(one[1:-1]) & set(other[1:-1])
            assert transfer.end().received == SIZE
            wait_until(lambda: paths(view) == [], "the view to be empty again", 30)
        listening = run(["ss", "-Htln", f"sport = :{REST_PORT}"]).split()
        assert f"127.0.0.1:{REST_PORT}" in listening
        assert not any(word.startswith(("0.0.0.0:8", "*:8", "[::]:8")) for word in listening)
