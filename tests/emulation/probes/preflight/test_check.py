"""`preflight check` against a real sshd over a link that becomes slower: measured, stored, judged."""

import json

import pytest

from probes.preflight.history.regression_check import MINIMUM
from services.iperf3 import Iperf3Server
from tests.support.preflight_in_host import MEMORY, RATE_BPS, preflight_over_a_link
from topologies.sandbox.sandbox import TEMPORARY

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

SLOWER_BPS = 25_000_000


def test_a_path_that_becomes_slower_is_found():
    with preflight_over_a_link() as (testbed, sshd, preflight):
        meeting = ["-F", str(sshd.client_configuration), "--batch"]
        code, _ = preflight("check", "dtn", *meeting, "--measure", "--transfer", "nothing")
        assert code == 2 and not MEMORY.exists(), "asked wrongly: nothing is measured"
        assert preflight("dtn", "--time", "1s", "--no-route", *meeting)[0] == 0
        for number in range(1, MINIMUM):
            code, stdout = preflight("check", "dtn", "--measure", *meeting, "--json")
            found = json.loads(stdout)
            assert (code, found["verdict"], found["history"]["count"]) == (0, "unknown", number)

        code, stdout = preflight("check", "dtn", "--measure", *meeting, "--transfer", "1GB", "--json")
        found = json.loads(stdout)
        assert (code, found["verdict"]) == (0, "within")
        assert 0.8 * RATE_BPS < found["transfer"]["rate_bps"] < RATE_BPS
        assert found["limit"]["limit"] == "bottleneck", found["limit"]

        testbed.link("h1", 0).change(bandwidth_bps=SLOWER_BPS)
        code, stdout = preflight("check", "dtn", "--measure", *meeting, "--transfer", "1GB", "--json")
        found = json.loads(stdout)
        assert (code, found["verdict"]) == (1, "below")
        assert -0.6 < found["history"]["change"] < -0.4
        assert 8e9 / SLOWER_BPS < found["transfer"]["seconds"] < 8e9 / (0.8 * SLOWER_BPS)

        sshd.known_hosts.write_text("")
        code, _ = preflight("check", "dtn", "--measure", *meeting)
        assert code == 4, "a measurement that failed is no answer, and not `worse than before`"
        assert preflight("history", "dtn")[1].count("-preflight-") == MINIMUM + 2


def test_iperf3_beside_it_has_the_same_rate_limit():
    with preflight_over_a_link() as (testbed, sshd, preflight):
        words = ("-F", str(sshd.client_configuration), "--batch", "--no-route", "--json")
        with Iperf3Server(testbed.net.hosts[1], TEMPORARY) as server:
            options = ("--time", "1s", "--rate", "20Mbit", "--streams", "2", f"--iperf3={server.port}")
            code, stdout = preflight("dtn", *options, *words)
    assert code == 0
    assert json.loads(stdout)["measurement"]["iperf3"]["goodput_bps"] == pytest.approx(20e6, rel=0.05)
