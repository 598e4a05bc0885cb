"""The controller with real switches: Open vSwitch's user datapath, two switches, three hosts, in namespaces of its own.

h1 and h3 are on s1, h2 is on s2. All of it lives inside one sandbox, which the kernel takes away with its first
process.
"""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from controllers.openflow.rules import DROP_PRIORITY, forwarding_rules
from flightpath.project import PROJECT

NETWORK = Network(
    switches=(Switch("s1", 1), Switch("s2", 2)),
    hosts=tuple(
        Host(f"h{i}", (Interface(f"h{i}-eth0", f"02:00:00:00:00:0{i}", (f"10.0.0.{i}", f"fd00::{i}"), switch, port),))
        for i, switch, port in ((1, "s1", 1), (2, "s2", 1), (3, "s1", 2))
    ),
    links=(Link(SwitchPort("s1", 3), SwitchPort("s2", 2)),),
)
PAIRS = [(a, b) for a in NETWORK.interfaces for b in NETWORK.interfaces if a != b]

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ovs-vswitchd") is None, reason="needs root and Open vSwitch"
)


def wait_for(condition, what, timeout_s=20):
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"no {what} after {timeout_s} s"
        time.sleep(0.02)
    return found


class Sandbox:
    """Own network, mount and PID namespaces with an own /run; commands are run inside."""

    def __init__(self):
        # The switches' own ends of the cables must not speak IPv6: their hosts would hear it, past every rule.
        quiet = "sysctl -q net.ipv6.conf.default.disable_ipv6=1"
        script = f"mount -t tmpfs tmpfs /run && ip link set lo up && {quiet} && echo up && exec sleep infinity"
        # No --mount-proc: with the machine's /proc, programs can be started in the namespaces and killed from outside.
        unshare = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]
        self._outer = subprocess.Popen([*unshare, "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        assert self._outer.stdout.readline() == "up\n"
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text()
        self._enter = ["nsenter", "-t", children.split()[0], "--net", "--mount", "--root", f"--wd={PROJECT}"]

    def argv(self, *argv, pid_namespace=False):
        """Without the PID namespace, nsenter becomes the program, which can then be killed by the Popen's id."""
        return [*self._enter, *(["--pid"] if pid_namespace else []), *map(str, argv)]

    def run(self, *argv, pid_namespace=False):
        done = subprocess.run(
            self.argv(*argv, pid_namespace=pid_namespace),
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def close(self):
        self._outer.kill()
        self._outer.wait()


def start_open_vswitch(sandbox):
    run = sandbox.run
    run("mkdir", "-p", "/run/openvswitch")
    run("ovsdb-tool", "create", "/run/conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
    daemon = ("--detach", "--pidfile", "-vsyslog:off", "-vconsole:off")
    run("ovsdb-server", "/run/conf.db", "--remote=punix:/run/openvswitch/db.sock", *daemon, pid_namespace=True)
    run("ovs-vsctl", "--no-wait", "init")
    run("ovs-vswitchd", *daemon, pid_namespace=True)


def add_switch(sandbox, switch):
    sandbox.run(
        *("ovs-vsctl", "add-br", switch.name, "--", "set", "bridge", switch.name, "datapath_type=netdev"),
        *("fail_mode=secure", "protocols=OpenFlow13", f"other-config:datapath-id={switch.dpid:016x}"),
        "other-config:disable-in-band=true",  # as Mininet does; hidden rules for the controller's address otherwise
    )


def plug(sandbox, device, at):
    sandbox.run("ip", "link", "set", device, "up")
    sandbox.run(
        *("ovs-vsctl", "add-port", at.switch, device, "--", "set", "interface", device, f"ofport_request={at.port}")
    )


def add_host(sandbox, host):
    (it,) = host.interfaces
    sandbox.run("ip", "netns", "add", host.name)
    sandbox.run(
        *("ip", "link", "add", f"{it.switch}-eth{it.port}", "type", "veth"),
        *("peer", "name", it.name, "address", it.mac, "netns", host.name),
    )
    plug(sandbox, f"{it.switch}-eth{it.port}", it.plugged_into)
    for address in it.addresses:
        options = ("/64", "nodad") if ":" in address else ("/24",)
        sandbox.run("ip", "-n", host.name, "addr", "add", address + options[0], "dev", it.name, *options[1:])
    # OVS 3.1 fills in no checksums that a sender left to its card: TCP would hang (ping would not).
    sandbox.run("ip", "netns", "exec", host.name, "ethtool", "-K", it.name, "tx", "off")
    sandbox.run("ip", "-n", host.name, "link", "set", it.name, "up")


@pytest.fixture(scope="module")
def sandbox():
    made = Sandbox()
    try:
        start_open_vswitch(made)
        for switch in NETWORK.switches:
            add_switch(made, switch)
        for link in NETWORK.links:
            ends = {f"{end.switch}-eth{end.port}": end for end in (link.a, link.b)}
            first, second = ends
            made.run("ip", "link", "add", first, "type", "veth", "peer", "name", second)
            for device, end in ends.items():
                plug(made, device, end)
        for host in NETWORK.hosts:
            add_host(made, host)
        yield made
    finally:
        made.close()


class Controller:
    """The controller's process, and the lines it printed."""

    def __init__(self, sandbox, directory, network=NETWORK, listen="127.0.0.1:0"):
        path = directory / "network.json"
        path.write_text(network.to_json())
        argv = sandbox.argv(sys.executable, "-m", "controllers", "--network", path, "--listen", listen)
        self._sandbox = sandbox
        self.errors = directory / "stderr"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.lines = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        self.lines.extend(iter(self.process.stdout.readline, ""))

    @property
    def address(self):
        return self._lines(r"listening on (.*)\n")[0]

    def take_over(self, network=NETWORK):
        """Points the switches here: a new address is tried at once, a known one after up to 8 s (the backoff)."""
        for switch in network.switches:
            self._sandbox.run("ovs-vsctl", "set-controller", switch.name, f"tcp:{self.address}")
        ready = {(s.name, str(len(forwarding_rules(network, s)))) for s in network.switches}
        wait_for(lambda: ready <= set(self._lines(r"switch (.*) ready: (\d+) rules\n")), "ready switches")

    def _lines(self, pattern):
        def found():
            assert self.process.poll() is None, self.errors.read_text()
            return [match.groups() for line in self.lines if (match := re.fullmatch(pattern, line))]

        groups = wait_for(found, f"line {pattern!r}")
        return [group[0] if len(group) == 1 else group for group in groups]

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(timeout=30)


@contextmanager
def controller(sandbox, directory, network=NETWORK) -> Iterator[Controller]:
    running = Controller(sandbox, directory, network)
    try:
        running.take_over(network)
        yield running
    finally:
        running.end(signal.SIGKILL)


def ping(sandbox, source, target, *options):
    """Statistics line of a ping between two interfaces, by the target's address and the source's host."""
    return sandbox.run("ip", "netns", "exec", source, "ping", "-n", "-q", "-W", "5", "-c", "1", *options, target)


def ping_all(sandbox):
    for source, target in PAIRS:
        for address in target.addresses:
            ping(sandbox, source.name.split("-")[0], address)


def flush_neighbours(sandbox):
    for host in NETWORK.hosts:
        sandbox.run("ip", "-n", host.name, "neigh", "flush", "all")
        assert sandbox.run("ip", "-n", host.name, "neigh", "show", "nud", "reachable", "nud", "stale") == ""


def rules_in(sandbox, switch):
    """What the switch has, without its counters and without what goes by itself."""
    text = sandbox.run("ovs-ofctl", "-O", "OpenFlow13", "--no-stats", "dump-flows", switch)
    rules = [line.strip() for line in text.splitlines() if "priority" in line]
    return sorted(rule for rule in rules if "hard_timeout" not in rule)


def packets(sandbox, switch, match):
    text = sandbox.run("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", switch)
    return sum(int(re.search(r"n_packets=(\d+)", line)[1]) for line in text.splitlines() if match in line)


def received(sandbox, host):
    (link,) = json.loads(sandbox.run("ip", "-n", host, "-s", "-j", "link", "show", "dev", f"{host}-eth0"))
    return link["stats64"]["rx"]["packets"]


def test_all_hosts_reach_each_other_over_ipv4_and_ipv6(sandbox, tmp_path):
    with controller(sandbox, tmp_path):
        flush_neighbours(sandbox)
        ping_all(sandbox)
        for switch in NETWORK.switches:
            assert len(rules_in(sandbox, switch.name)) == len(forwarding_rules(NETWORK, switch))


def test_nobody_else_gets_a_copy(sandbox, tmp_path):
    with controller(sandbox, tmp_path):
        flush_neighbours(sandbox)
        before, before_target = received(sandbox, "h3"), received(sandbox, "h2")
        for address in ("10.0.0.2", "fd00::2"):
            ping(sandbox, "h1", address, "-c", "10", "-i", "0.01")
        assert received(sandbox, "h2") - before_target >= 22  # 10 echo requests and one question each
        assert received(sandbox, "h3") == before


def test_forwarding_goes_on_without_a_controller_even_with_empty_neighbour_caches(sandbox, tmp_path):
    with controller(sandbox, tmp_path) as running:
        assert running.end(signal.SIGKILL) == -signal.SIGKILL
        flush_neighbours(sandbox)
        ping_all(sandbox)


def test_a_restart_changes_no_rule_and_loses_no_packet(sandbox, tmp_path):
    with controller(sandbox, tmp_path):
        before = {switch.name: rules_in(sandbox, switch.name) for switch in NETWORK.switches}
    command = ("ip", "netns", "exec", "h1", "ping", "-n", "-q", "-i", "0.005", "10.0.0.2")
    pinging = subprocess.Popen(sandbox.argv(*command), stdout=subprocess.PIPE, text=True)
    at_start = received(sandbox, "h2")
    wait_for(lambda: received(sandbox, "h2") > at_start + 10, "pings")
    towards_h2 = "dl_dst=02:00:00:00:00:02"
    counted = wait_for(lambda: (n := packets(sandbox, "s1", towards_h2)) > 50 and n, "packets counted by the rule")
    with controller(sandbox, tmp_path):
        assert packets(sandbox, "s1", towards_h2) >= counted  # the same rule still: a new one counts from 0
        at_ready = received(sandbox, "h2")
        wait_for(lambda: received(sandbox, "h2") > at_ready + 10, "pings after the restart")
        after = {switch.name: rules_in(sandbox, switch.name) for switch in NETWORK.switches}
    pinging.send_signal(signal.SIGINT)
    said, _ = pinging.communicate(timeout=20)
    sent, answered = map(int, re.search(r"(\d+) packets transmitted, (\d+) received", said).groups())
    assert sent > 20
    assert sent - answered <= 1  # the last one may be on its way when ping is told to end
    assert after == before


def test_what_is_not_wanted_any_more_is_deleted(sandbox, tmp_path):
    with controller(sandbox, tmp_path):
        pass
    foreign = "table=3,cookie=0x1234,priority=7,ip,actions=drop"
    sandbox.run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", "s1", foreign)
    sandbox.run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", "s1", "cookie=0,priority=65000,actions=flood")
    smaller = dataclasses.replace(NETWORK, hosts=NETWORK.hosts[:2])
    with controller(sandbox, tmp_path, smaller):
        rules = rules_in(sandbox, "s1")
        assert len(rules) == len(forwarding_rules(smaller, smaller.switches[0]))
        text = "\n".join(rules).lower()
        assert "flood" not in text
        assert "02:00:00:00:00:03" not in text
        ping(sandbox, "h1", "10.0.0.2")


def test_a_storm_to_an_unknown_destination_stays_in_the_switch(sandbox, tmp_path):
    unknown = "02:00:00:00:00:99"
    with controller(sandbox, tmp_path) as running:
        sandbox.run(
            *("ip", "-n", "h1", "neigh", "replace", "10.0.0.99", "lladdr", unknown, "dev", "h1-eth0"),
        )
        command = ("ip", "netns", "exec", "h1", "ping", "-n", "-q", "-i", "0.002", "10.0.0.99")
        storm = subprocess.Popen(sandbox.argv(*command), stdout=subprocess.DEVNULL)
        try:
            held = f"priority={DROP_PRIORITY},dl_dst={unknown}"
            wait_for(lambda: packets(sandbox, "s1", held) > 100, "packets dropped by the switch itself")
        finally:
            storm.kill()
            storm.wait()
        assert len([line for line in running.errors.read_text().splitlines() if unknown in line]) <= 2
        ping_all(sandbox)


@pytest.mark.parametrize("protocol", ["tcp", "tcp6"])
def test_one_cached_decision_serves_all_connections(sandbox, tmp_path, protocol):
    addresses = "ipv6_src=fd00::1,ipv6_dst=fd00::2" if protocol == "tcp6" else "nw_src=10.0.0.1,nw_dst=10.0.0.2"
    macs = "dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02"
    with controller(sandbox, tmp_path):
        flow = f"in_port=1,{protocol},{macs},{addresses},tp_src=1000,tp_dst=80"
        text = sandbox.run("ovs-appctl", "ofproto/trace", "s1", flow, pid_namespace=True)
    megaflow = re.search(r"Megaflow: (.*)", text)[1]
    assert "dl_dst=02:00:00:00:00:02" in megaflow
    for narrow in ("nw_src", "nw_dst", "ipv6_src", "ipv6_dst", "tp_src", "tp_dst", "dl_src"):
        assert narrow not in megaflow


def test_the_end_is_quiet_on_sigterm_and_sigint(sandbox, tmp_path):
    for how in (signal.SIGTERM, signal.SIGINT):
        with controller(sandbox, tmp_path) as running:
            assert running.end(how) == 0
            assert "Traceback" not in running.errors.read_text()


def test_a_taken_port_is_a_clear_error(sandbox, tmp_path):
    with controller(sandbox, tmp_path) as first:
        address = first.address
        second = Controller(sandbox, tmp_path, listen=address)
        assert second.process.wait(timeout=20) == 2
        assert f"cannot listen on {address}: Address already in use" in second.errors.read_text()
        assert "Traceback" not in second.errors.read_text()


def test_a_refused_rule_is_an_error_and_the_switch_is_never_ready(sandbox, tmp_path):
    limit = ("ovs-vsctl", "--", "--id=@full", "create", "Flow_Table", "flow_limit=3", "--", "set", "bridge", "s1")
    sandbox.run("ovs-ofctl", "-O", "OpenFlow13", "del-flows", "s1")
    sandbox.run(*limit, "flow_tables:0=@full")
    try:
        running = Controller(sandbox, tmp_path)
        sandbox.run("ovs-vsctl", "set-controller", "s1", f"tcp:{running.address}")
        assert running.process.wait(timeout=20) == 1
        assert "switch s1 refused" in running.errors.read_text()
        assert "Traceback" not in running.errors.read_text()
        assert not any("switch s1 ready" in line for line in running.lines)
    finally:
        sandbox.run("ovs-vsctl", "clear", "bridge", "s1", "flow_tables")


def test_it_ends_with_its_parent(sandbox, tmp_path):
    path = tmp_path / "network.json"
    path.write_text(NETWORK.to_json())
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-m', 'controllers', *sys.argv[1:]], stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    argv = sandbox.argv(sys.executable, "-c", script, "--network", path, "--listen", "127.0.0.1:0")
    parent = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    process = Path("/proc") / parent.stdout.readline().strip()
    assert (process / "stat").exists()
    parent.kill()
    parent.wait()
    wait_for(lambda: not process.exists() or ") Z " in (process / "stat").read_text(), "end of the controller")


def test_it_outlives_the_thread_that_started_it(sandbox, tmp_path):
    started = []
    thread = threading.Thread(target=lambda: started.append(Controller(sandbox, tmp_path)))
    thread.start()
    thread.join()
    try:
        started[0].take_over()
        assert started[0].process.poll() is None
    finally:
        started[0].end(signal.SIGKILL)
