"""Events during the load of the main job: they happen, are recorded as they were, and a resumed run repeats them."""

import subprocess
import sys
from pathlib import Path

import pytest

from flightpath.project import PROJECT
from results.store.store import Store

pytestmark = pytest.mark.virtual

SMALL = ("--threads", "60", "--loads", "400", "--repeat", "1", "--only", "protocol=tcp")


def run(*arguments: str, results: Path) -> subprocess.CompletedProcess[str]:
    own = ("--machine", "here", "--results", str(results))
    argv = [sys.executable, "-m", "scenarios.mptcp_load", *own, *arguments]
    return subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, timeout=110, check=False)


def test_events_happen_during_the_load_and_are_on_record(tmp_path):
    """TCP uses plane a (s1) alone, so that a black hole of one second there must lose packets, and one later none."""
    events = ("1s h1->s1 blackhole=on", "1500ms h1-s1 blackhole=off", "2s h1-s2 delay=5ms")

    done = run(*SMALL, *(word for event in events for word in ("--event", event)), results=tmp_path)

    assert done.returncode == 0, done.stderr
    store = Store.open(tmp_path)
    record = store.run("latest")
    assert record.plan["events"] == ["1s h1->s1 blackhole=on", "1.5s h1-s1 blackhole=off", "2s h1-s2 delay=5ms"]
    (cell,) = store.cells(record.run_id)
    found = cell.certificate.found
    assert [event["event"] for event in found["events"]] == record.plan["events"]
    for event, asked_s in zip(found["events"], (1.0, 1.5, 2.0), strict=True):
        assert event["happened_at_s"] >= asked_s
    assert found["links_during_load"]["h1_a"]["a_to_b"]["drops"]["blackhole"] > 0
    assert "5ms" not in str(found["links"]), "the certificate tells the links as they were before the load"
