"""A machine that has too much to do: a cell says so, and a run on the real clock ends with advice."""

import sys

import pytest

from flightpath.errors import UntrustworthyResult
from results.store.store import Store
from tests.support.busy_machine import busy_machine
from tests.support.finished import finished

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]


def test_on_the_real_clock_a_run_for_which_it_is_too_slow_measures_nothing(tmp_path):
    words = ("--clock", "real", "--threads", "20", "--loads", "200", "--repeat", "1", "--results", str(tmp_path))
    with busy_machine():
        done = finished([sys.executable, "-m", "scenarios.mptcp_load", *words])
    assert done.returncode == UntrustworthyResult.exit_code, done.stderr
    assert "this machine is too slow: protocol=mptcp" in done.stderr and "--clock virtual" in done.stderr
    assert Store.open(tmp_path).runs() == [] and not any(path.is_dir() for path in tmp_path.iterdir())
