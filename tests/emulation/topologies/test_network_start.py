"""A network starts few programs: hosts have no shell until one is needed, and settings need no programs."""

import os
from pathlib import Path

import pytest

from flightpath.errors import FlightpathError
from flightpath.processes import Process
from flightpath.waiting import wait_until
from topologies.dtn_pair import DtnPair
from topologies.hosts.nodes import Namespaces
from topologies.sandbox import kernel_settings
from topologies.testbed.testbed import Testbed


def namespace(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/net").readlink())


@pytest.mark.in_sandbox
def test_a_shell_starts_when_it_is_asked_for_and_sees_its_host():
    with Testbed(DtnPair()) as testbed:
        host = testbed.host("dtn1")
        assert host.shell is None
        for seen in (host.cmd("ip -o link"), host.cmd("ls /sys/class/net")):
            assert "dtn1-eth0" in seen and "dtn2" not in seen
        assert host.shell is not None and host.pid != host.shell.pid
        assert namespace(host.pid) == host.cmd("readlink /proc/self/ns/net").strip()
        pids = [it.pid for it in testbed.net.hosts]
    assert not any(map(Process.read, pids))
    assert host.cmd("true") is None  # ended: no shell comes back


@pytest.mark.in_sandbox
def test_namespaces_are_apart_and_end_with_their_maker():
    made = Namespaces(["a", "b"])
    links = {namespace(pid) for pid in (*made.pids.values(), os.getpid())}
    assert len(links) == 3
    comm = Path(f"/proc/{made.pids['b']}/comm")
    wait_until(lambda: comm.read_text() == "b\n", "the process to take its name", 30)
    made.stop()
    assert not any(map(Process.read, made.pids.values()))


@pytest.mark.in_sandbox
def test_settings_are_made_in_the_namespace_and_refusals_are_named():
    with Testbed(DtnPair()) as testbed:
        host, ignore = testbed.host("dtn1"), "net.ipv4.icmp_echo_ignore_all"
        own = Path("/proc/sys/net/ipv4/icmp_echo_ignore_all").read_text()
        with kernel_settings.inside(host):
            kernel_settings.write_sysctls({ignore: 1, "net.ipv4.no_such_setting": 1})
            with pytest.raises(FlightpathError, match=ignore):
                kernel_settings.write_sysctls({ignore: "nonsense"})
            with pytest.raises(FlightpathError, match="nothing0"):
                kernel_settings.bring_up("nothing0")
        assert host.run(["cat", "/proc/sys/net/ipv4/icmp_echo_ignore_all"]) == "1\n"
        assert Path("/proc/sys/net/ipv4/icmp_echo_ignore_all").read_text() == own
