"""Every experiment runs for an ordinary user, where users may make namespaces; what needs root says so by name."""

import json
import os
import shlex
import sys

import pytest

from experiments import catalogue
from results.store.store import Store
from tests.support.finished import finished
from tests.support.ordinary_user import as_ordinary_user, results_of_ordinary_user
from tests.support.rings import nightly
from tests.support.scenario_runs import ONE_CELL
from tests.support.vocabulary import unknown_metrics

# Ten seconds are usual; beside busy loops and other tests it has taken more than a hundred.
pytestmark = pytest.mark.timeout(450)

FIRST_RING = "multipath_10gbe"
"""Its processor time is that of sender, receiver and links, which only the real clock has."""

SMALL = {**ONE_CELL, "mptcp_load": "--threads 40 --loads 400 --only protocol=mptcp --scale 1"}


def test_no_experiment_is_forgotten():
    assert {*SMALL} == {*catalogue.names()}


@pytest.mark.parametrize("scenario", [FIRST_RING, *(nightly(name) for name in SMALL if name != FIRST_RING)])
def test_it_runs_without_root(scenario: str):
    with results_of_ordinary_user() as results:
        words = ["--repeat", "1", "--clock", "real", "--json", "--results", str(results)]
        argv = [sys.executable, "-m", f"scenarios.{scenario}", *shlex.split(SMALL[scenario]), *words]
        done = finished(as_ordinary_user(argv), timeout=400, env={**os.environ, "HOME": str(results)})

        assert done.returncode in (0, 4), done.stderr  # 4: a busy machine, honestly reported
        (cell,) = json.loads(done.stdout)["cells"]
        assert cell["metrics"], done.stdout
        (stored,) = Store.open(results).cells("latest")
        assert unknown_metrics(stored.measurement.metrics) == {}
        if scenario == FIRST_RING:
            used = {name: metric["value"] for name, metric in cell["metrics"].items()}
            assert used["cpu_sender"] + used["cpu_receiver"] + used["cpu_links"] == pytest.approx(used["cpu_total"])
            assert min(used["cpu_tunnel"], used["cpu_links"]) > 0
