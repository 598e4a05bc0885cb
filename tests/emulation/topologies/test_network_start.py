"""A network starts few programs: no shell until one is needed, none for settings, and no emulator for bare cables."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from flightpath.processes import Process
from flightpath.waiting import wait_until
from topologies.dtn_pair import DtnPair
from topologies.fat_tree import FatTree
from topologies.hosts.nodes import Namespaces
from topologies.links.spec import LinkSpec
from topologies.links.veth_link import VethLink
from topologies.sandbox import kernel_settings
from topologies.testbed.openvswitch import has_kernel_datapath
from topologies.testbed.ovsdb import Database
from topologies.testbed.testbed import Testbed

pytestmark = pytest.mark.in_sandbox


def namespace(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/net").readlink())


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


def test_namespaces_are_apart_and_end_with_their_maker():
    made = Namespaces(["a", "b"])
    links = {namespace(pid) for pid in (*made.pids.values(), os.getpid())}
    assert len(links) == 3
    comm = Path(f"/proc/{made.pids['b']}/comm")
    wait_until(lambda: comm.read_text() == "b\n", "the process to take its name", 30)
    made.stop()
    assert not any(map(Process.read, made.pids.values()))


def test_programs_and_transactions_of_a_start_do_not_grow_with_switches_and_links(monkeypatch):
    has_kernel_datapath()  # remembers what it found by a program
    few, many = (counts_of(FatTree(pods=pods), monkeypatch) for pods in (2, 4))
    hosts, switches, links = (16 - 2, 20 - 5, 48 - 6)
    # Each host needs one program; all else is done for all nodes at once. Where a further program is needed for each
    # switch or link, a thousand hosts take minutes.
    assert many["programs"] - few["programs"] == hosts < switches < links
    assert many["transactions"] == few["transactions"] < 8
    assert many["programs at the end"] == few["programs at the end"] < 4


def counts_of(topology, monkeypatch) -> dict[str, int]:
    """Cost of a network, whatever the machine does beside it."""
    programs, transactions, bridges = [], [], []
    start, transact = subprocess.Popen.__init__, Database.transact

    def counted_start(self, argv, *args, **kwargs):
        programs.append(argv)
        start(self, argv, *args, **kwargs)

    def counted_transact(self, *operations):
        bridges.extend(it for it in operations if it["op"] == "insert" and it["table"] == "Bridge")
        if any(it["op"] != "select" for it in operations):
            transactions.append(operations)
        return transact(self, *operations)

    with monkeypatch.context() as patch:
        patch.setattr(subprocess.Popen, "__init__", counted_start)
        patch.setattr(Database, "transact", counted_transact)
        with Testbed(topology) as testbed:
            at_start = len(programs)
            ends = testbed.net.hosts[0], testbed.net.hosts[-1]
            ends[0].run(["ping", "-q", "-c", "1", ends[1].address()])
        assert len(bridges) == len(testbed.net.switches)
    return {
        "programs": at_start,
        "transactions": len(transactions),
        "programs at the end": len(programs) - at_start - 1,
    }


def test_nothing_is_left_of_a_network_in_the_namespace_of_the_next_one():
    before = socket.if_nameindex()
    for _ in range(2):  # the same names again
        with Testbed(FatTree(pods=2)):
            assert len(socket.if_nameindex()) >= len(before) + 2 * 4 + 2 + 5
        assert socket.if_nameindex() == before


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


def test_links_that_emulate_nothing_are_cables():
    with Testbed(DtnPair(link=LinkSpec(bandwidth_bps=50_000_000), cross_traffic=1)) as testbed:
        kinds = {link.name: link.emulator for link in testbed.links}
        assert sorted(kinds.values()).count(testbed.emulator) == 1, kinds
        assert set(kinds.values()) == {"cable", testbed.emulator}, kinds
        assert testbed.description()["links"][testbed.links[0].name]["emulator"] == testbed.links[0].emulator
        testbed.calibrate()
        h1, h2 = testbed.net.hosts[:2]
        cable = testbed.link(h1.name, 0)
        before = cable.stats()["directions"]
        h1.run(["ping", "-c", "5", "-i", "0.05", "-s", "1000", h2.address(0)])
        after = cable.stats()["directions"]
        for way in ("a_to_b", "b_to_a"):
            assert after[way]["out_packets"] - before[way]["out_packets"] >= 5
            assert after[way]["out_bytes"] - before[way]["out_bytes"] >= 5 * 1042
        testbed.check()


def test_every_link_is_the_emulators_if_it_was_asked_for(emulator):
    with Testbed(DtnPair(switched=False), emulator=emulator) as testbed:
        assert {link.emulator for link in testbed.links} == {testbed.description()["emulator"]} == {emulator}


def test_a_cable_refuses_what_it_cannot_be():
    with Testbed(DtnPair(switched=False)) as testbed:
        (cable,) = testbed.links
        assert isinstance(cable, VethLink)
        for change in (
            lambda: cable.change(bandwidth_bps=1_000_000),
            lambda: cable.set_carrier(False),
            lambda: cable.set_black_hole(True),
        ):
            with pytest.raises(UsageError, match="--emulator relay"):
                change()
        assert cable.a_to_b == LinkSpec()
        cable.change(loss=0)
        with pytest.raises(UsageError, match="cannot emulate: 1Mbit,"):
            VethLink(*testbed.net.hosts, spec=LinkSpec(bandwidth_bps=1_000_000))
        testbed.net.hosts[0].run(["ip", "link", "delete", "dev", cable.intf1.name])
        with pytest.raises(MeasurementFailed, match="is gone"):
            testbed.check()
