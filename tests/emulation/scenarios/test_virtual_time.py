"""Scenarios in virtual time: the same figures whatever else the machine does, and nothing left behind."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from flightpath.clock import Clock
from flightpath.project import PROJECT
from results.commands.watch import main as watch
from results.recording.file import read
from results.records import CellResult
from results.store.store import Store
from tests.support.finished import finished
from tests.support.watched_pages import captured_bytes, shown

pytestmark = pytest.mark.starts_kernels


def measured(scenario: str, results: Path, *words: str) -> list[CellResult]:
    own = ("--clock", "virtual", "--repeat", "1", "--results", str(results))
    done = finished([sys.executable, "-m", f"scenarios.{scenario}", *own, *words])
    assert done.returncode == 0, done.stderr
    return Store.open(results).cells("latest")


@pytest.mark.nightly
def test_repetitions_and_seeds_differ(tmp_path):
    words = "--only configuration=mptcp4 --only paths=1 --link 20Mbit,1ms --size 1 --seconds 1"
    one_cell = words.split()
    first, second = measured("multipath_10gbe", tmp_path / "one", *one_cell, "--repeat", "2")
    (other,) = measured("multipath_10gbe", tmp_path / "two", *one_cell, "--seed", "2")
    assert first.measurement not in (second.measurement, other.measurement)


def test_both_clocks_are_measured_and_what_limits_a_program_is_said(tmp_path):
    words = ("run", "tests/data/spin.toml", "--both-clocks", "--repeat", "1", "--results", str(tmp_path / "runs"))
    done = finished([sys.executable, "-m", "flightpath.cli", *words])
    assert done.returncode == 0, done.stderr
    store = Store.open(tmp_path / "runs")
    cells = {record.clock: store.cells(record.run_id)[0] for record in store.runs()}
    virtual, real = cells[Clock.VIRTUAL], cells[Clock.REAL]
    assert virtual.measurement.metrics["run_time"].value < 0.2 < real.measurement.metrics["run_time"].value
    assert real.measurement.metrics["cpu_spin"].value > 0
    assert virtual.certificate.found["path_bps"] == 10e6
    assert "run_time: the protocol reaches" in done.stdout and "`spin`" in done.stdout


def test_a_scenario_of_one_s_own_file_runs_there_too_and_its_packets_are_kept_and_watched(tmp_path):
    file = tmp_path / "tcp_loss.py"
    blocks = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("```python\n")[1:]
    file.write_text(blocks[0].split("```")[0], encoding="utf-8")
    words = ("--clock", "virtual", "--seconds", "1", "--only", "loss=0.1%", "--results", str(tmp_path / "runs"))
    words += ("--only", "congestion_control=cubic", "--repeat", "1", "--capture", "dtn1-eth0,dtn2", "--record")
    done = finished([sys.executable, str(file), *words])
    assert done.returncode == 0, done.stderr
    store = Store.open(tmp_path / "runs")
    (cell,) = store.cells("latest")
    assert cell.clock is Clock.VIRTUAL
    folder = store.artifacts(store.latest().run_id)
    assert (folder / "goodput.png").exists()
    captured = cell.certificate.found["captures"]
    ends = ("dtn1-eth0.pcapng", "dtn2.pcapng")
    assert all(each["file"].endswith(end) for each, end in zip(captured, ends, strict=True)), captured
    for each in captured:
        read = finished(["tcpdump", "-nr", folder / each["file"]], check=True)
        assert len(read.stdout.splitlines()) == each["packets"] > 100
        assert ".5201" in read.stdout
    page = tmp_path / "page.html"
    assert watch(["--results", str(tmp_path / "runs"), "--output", str(page)]) == 0
    _shows_what_was_captured(page, folder / captured[0]["file"], cell.certificate.found["recording"], folder)


def test_an_error_in_a_scenario_of_one_s_own_is_shown_once_with_the_line_where_it_was_raised(tmp_path):
    file = tmp_path / "broken.py"
    file.write_text(
        "from scenarios.command import runner\n"
        "from scenarios.congestion_race import CongestionRace\n"
        "class Broken(CongestionRace):\n"
        "    name = 'broken'\n"
        "    def load(self, run):\n"
        "        return {}['no such metric']\n"
        "if __name__ == '__main__':\n"
        "    runner.main(Broken())\n"
    )
    words = ["--clock", "virtual", "--repeat", "1", "--algorithm", "reno", "--only", "against=nobody"]
    done = finished([sys.executable, str(file), *words, "--results", str(tmp_path / "runs")])
    assert done.returncode == 1
    assert done.stderr.count(f'File "{file}", line 6, in load') == 1, done.stderr
    assert "  KeyError: 'no such metric'\n" in done.stderr
    assert "\nerror: 1 of 1 cell could not be measured, for the reasons above\n" in done.stderr


@pytest.mark.nightly
def test_a_cut_is_on_the_page_where_packets_no_longer_arrive(tmp_path):
    words = "--only paths=equal --only transport=mptcp --seconds 1 --record"
    cut = ("--event", "0.6s h1-eth1 down", "--event", "0.8s h1-eth1 up")
    measured("multipath_unequal", tmp_path, *words.split(), *cut)
    page = tmp_path / "page.html"
    assert watch(["--results", str(tmp_path), "--output", str(page)]) == 0
    facts, columns = shown(page)
    is_change = columns["eventKind"] == facts["kinds"].index("link change")
    assert [facts["changes"][n] for n in columns["eventFlow"][is_change]] == ["h1-eth1 down", "h1-eth1 up"]
    began, ended = columns["eventTime"][is_change] * 1e6
    cut_link = [each["name"] for each in facts["links"]].index("h1-eth1:h2-eth1")
    arrived = np.sort(columns["arrived"][columns["point"] // 2 == cut_link])
    before, after = arrived[arrived < began + 1e6], arrived[arrived >= began + 1e6]
    assert began - before[-1] < 20e6 and after[0] > ended, (began, before[-1], after[0], ended)


def _shows_what_was_captured(page, capture, recording, folder):
    """Bytes that entered the link and arrived on it are as many as tcpdump saw at its end, at ten random moments."""
    facts, columns = shown(page)
    # What recording costs is on record, unless this machine was too busy to tell.
    assert recording.get("slowdown", math.inf) > 1
    assert recording["missing"] == 0 and len(columns["entered"]) <= recording["packets"] and not recording["full"]
    assert recording["file_bytes"] == (folder / recording["file"]).stat().st_size < 30 * recording["packets"] + 50_000
    began = read(folder / recording["file"]).description["began_ns"]
    flows = {n: flow["name"].split(" ")[1] for n, flow in enumerate(facts["flows"]) if flow["name"].startswith("TCP")}
    is_tcp = np.isin(columns["flow"], list(flows))
    for point, column in ((0, "entered"), (1, "arrived")):  # dtn1 is end a of the link
        mine = is_tcp & (columns["point"] == point)
        sender = flows[int(columns["flow"][mine][0])].rpartition(":")[0]
        times, payloads = captured_bytes(capture, sender)
        for moment in np.random.default_rng(point).uniform(0, facts["duration"] * 1e6, 10):
            before = (times >= began) & (times - began <= moment)
            now = mine & (columns[column] <= moment)
            assert (before.sum(), payloads[before].sum()) == (now.sum(), columns["payload"][now].sum())
    assert mine.sum() > 100
