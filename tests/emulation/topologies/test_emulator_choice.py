"""A whole network over each emulator, which the topology does not name and the certificate does."""

import re

import pytest

from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed
from topologies.web_service import WebService


@pytest.mark.in_sandbox
def test_a_testbed_runs_over_the_emulator_asked_for(emulator):
    spec = LinkSpec(bandwidth_bps=10_000_000, delay_s=0.02)
    with Testbed(WebService(planes=(spec, spec)), emulator=emulator) as testbed:
        assert testbed.emulator == testbed.description()["emulator"] == emulator
        assert {link.emulator for link in testbed.links} == {emulator}
        output = testbed.host("h1").run(["ping", "-n", "-c", "5", "-i", "0.2", testbed.host("h2").address(0)])
        # Two links, there and back.
        assert 80 <= min(map(float, re.findall(r"time=([0-9.]+) ms", output))) < 160
        testbed.check()
        assert testbed.link("h1", 0).stats()["directions"]["a_to_b"]["out_packets"] >= 5
