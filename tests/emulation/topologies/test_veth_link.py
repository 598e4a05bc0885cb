"""Bare veth pairs: links that emulate nothing, networks of them, and the changes that they refuse."""

import pytest

from flightpath.errors import MeasurementFailed, UsageError
from topologies.dtn_pair import DtnPair
from topologies.links.spec import LinkSpec
from topologies.links.veth_link import VethLink
from topologies.testbed.testbed import Testbed


@pytest.mark.in_sandbox
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


@pytest.mark.in_sandbox
def test_every_link_is_the_emulators_if_it_was_asked_for(emulator):
    with Testbed(DtnPair(switched=False), emulator=emulator) as testbed:
        assert {link.emulator for link in testbed.links} == {testbed.description()["emulator"]} == {emulator}


@pytest.mark.in_sandbox
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
