"""`preflight check` against a real sshd over a link that becomes slower: measured, stored, judged."""

import json
import subprocess
import sys

import pytest

from flightpath.project import PROJECT
from probes.preflight.history.regression_check import MINIMUM
from services.sshd import Sshd
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

pytestmark = pytest.mark.virtual

RATE_BPS, SLOWER_BPS, RTT_MS = 50_000_000, 25_000_000, 20
LINK = LinkSpec(bandwidth_bps=RATE_BPS, delay_s=RTT_MS / 2000)


def test_a_path_that_becomes_slower_is_found(sandboxed):
    def body() -> None:
        with Testbed(MultipathPair(paths=1, links=LINK, congestion_control="cubic")) as testbed:
            client, server = testbed.net.hosts
            with Sshd(server, server.address(), TEMPORARY / "sshd") as sshd:
                memory = ["--results", str(TEMPORARY / "memory")]
                meeting = ["-F", str(sshd.client_configuration), "--batch"]

                def preflight(*words: str) -> tuple[int, str]:
                    argv = [sys.executable, "-m", "probes.preflight", *words, *memory]
                    process = client.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT)
                    told, said = process.communicate(timeout=100)
                    assert "Traceback" not in said, said
                    return process.returncode, told

                code, _ = preflight("check", "dtn", *meeting, "--measure", "--transfer", "nothing")
                assert code == 2 and not (TEMPORARY / "memory").exists(), "asked wrongly: nothing is measured"
                code, told = preflight("dtn", "--time", "1s", "--no-route", *meeting, "--json")
                assert code == 0
                first = json.loads(told)["run"]
                for number in range(1, MINIMUM):
                    code, told = preflight("check", "dtn", "--measure", *meeting, "--json")
                    found = json.loads(told)
                    assert (code, found["verdict"], found["history"]["count"]) == (0, "unknown", number)

                code, told = preflight("check", "dtn", "--measure", *meeting, "--transfer", "1GB", "--json")
                found = json.loads(told)
                assert (code, found["verdict"]) == (0, "within")
                assert 0.8 * RATE_BPS < found["transfer"]["rate_bps"] < RATE_BPS
                assert found["limit"]["limit"] == "bottleneck", found["limit"]

                testbed.link("h1", 0).change(bandwidth_bps=SLOWER_BPS)
                code, told = preflight("check", "dtn", "--measure", *meeting, "--transfer", "1GB", "--json")
                found = json.loads(told)
                assert (code, found["verdict"]) == (1, "below")
                assert -0.6 < found["history"]["change"] < -0.4
                assert 8e9 / SLOWER_BPS < found["transfer"]["seconds"] < 8e9 / (0.8 * SLOWER_BPS)

                again, told_again = preflight("check", "dtn", "--no-measure", "--transfer", "1GB", "--json")
                assert again == 1 and json.loads(told_again)["today"]["run"] == found["today"]["run"]
                code, told = preflight("history", "dtn")
                assert code == 0 and told.count("-preflight-") == MINIMUM + 2
                code, told = preflight("compare", first, found["today"]["run"])
                assert code == 0 and "cannot be told" in told, "one iteration each"

                sshd.folder.joinpath("client", "known_hosts").write_text("")
                code, _ = preflight("check", "dtn", "--measure", *meeting)
                assert code == 4, "a measurement that failed is no answer, and not `worse than before`"
                assert preflight("history", "dtn")[1].count("-preflight-") == MINIMUM + 2

    sandboxed(body)
