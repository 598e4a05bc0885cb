"""A run keeps its cells on a server that its own network cannot reach."""

import subprocess
import sys
import time

import pytest

from flightpath.project import PROJECT
from results.exchange.progress import latest_progress
from results.records import RunStatus
from results.store.location import StoreLocation, server_url
from results.store.store import Store
from tests.support.database_server import store_options

SHORT = ["--algorithm", "cubic", "--only", "against=nobody", "--seconds", "4", "--link", "20Mbit,5ms"]


@pytest.mark.timeout(450)  # a busy machine measures twice, and each time for more than a minute
def test_a_scenario_keeps_its_run_on_the_server_and_its_figures_here(tmp_path, server):
    location = StoreLocation(tmp_path / "runs", server_url(str(server.over_tcp(server.database()))))
    command = [sys.executable, "-m", "scenarios.congestion_race", *SHORT, "--clock", "real", *store_options(location)]
    store = Store.open(location)
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        reported = set()
        while running.poll() is None:
            if (latest := store.latest()) and (progress := latest_progress(store, latest.run_id, latest.status)):
                reported |= {progress.doing, *progress.series}
            time.sleep(0.1)
        said = running.stderr.read()
    assert running.returncode in (0, 4), said  # 4: this machine was too busy to be believed
    assert {"starting the testbed", "racing", "idle CPU"} < reported, reported
    assert len(store.cells("latest")) == 1 and store.run("latest").status is RunStatus.DONE
    assert list(store.artifacts("latest").glob("*.svg"))
    assert not list(location.folder.glob("*.sqlite"))
