"""A machine that has too much to do: a cell says so, and a run on the real clock ends with advice."""

import subprocess
import sys

import pytest

from experiments import fidelity
from flightpath.errors import UntrustworthyResult
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from results.records import Verdict
from results.store.store import Store
from tests.support.busy_machine import busy_machine
from topologies.testbed.testbed import Testbed
from topologies.web_service import WebService

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]


@pytest.mark.in_sandbox
def test_what_is_measured_there_is_unusable():
    with Testbed(WebService(planes="bandwidth=50Mbit delay=2ms")) as testbed:
        with fidelity.Watch(testbed) as watch, busy_machine():
            wait_until(lambda: len(watch.log.rows) >= 5, "five readings", 60)
        certificate = watch.certificate()
        assert certificate.verdict is Verdict.UNUSABLE
        assert len(certificate.found["idle_cpu_percent"]) >= 2
        assert any("the machine was measured, not the network" in why for why in certificate.reasons)


def test_on_the_real_clock_a_run_for_which_it_is_too_slow_measures_nothing(tmp_path):
    words = ("--clock", "real", "--threads", "20", "--loads", "200", "--repeat", "1", "--results", str(tmp_path))
    with busy_machine():
        done = subprocess.run(
            [sys.executable, "-m", "scenarios.mptcp_load", *words], cwd=PROJECT, capture_output=True, text=True
        )
    assert done.returncode == UntrustworthyResult.exit_code, done.stderr
    assert "this machine is too slow: protocol=mptcp" in done.stderr and "--clock virtual" in done.stderr
    assert Store.open(tmp_path).runs() == [] and not any(path.is_dir() for path in tmp_path.iterdir())
