"""`preflight check --measure`: what it repeats of the last measurement, and what it never takes from a store."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from probes.preflight.history.past import load
from probes.preflight.history.profiles import get_profile, load_profile
from probes.preflight.spec import TransferSpec
from results.store.store import Store
from tests.support.preflight_made_up import measurement, store_result
from tests.support.ssh_far_end import Done, FarEnd, in_this_process

KEPT = "what the user wrote\n"
SIZE = 300_000


@pytest.fixture
def preflight(end: FarEnd, tmp_path: Path) -> Callable[..., Done]:
    """Runs `preflight` with the memory `tmp_path`."""
    where = ["-F", str(end.sshd.client_configuration), "--batch", "--results", str(tmp_path), "--json"]
    return lambda *words: in_this_process([*words, *where])


def configuration_of_newest(done: Done) -> dict:
    assert done.code in (0, 4), done.said  # 4: this machine was busy
    return json.loads(done.printed)["today"]["configuration"]


def test_files_and_folders_of_a_stored_run_are_left_alone(end, preflight, tmp_path):
    theirs = tmp_path / ".bashrc"
    theirs.write_text(KEPT)
    files = {"remote_file": str(end.make("theirs.dat", SIZE)), "remote_folder": "/nowhere", "sink": str(theirs)}
    spec = TransferSpec(**files, size_bytes=SIZE, streams=2, route=False)
    run = store_result(measurement([9e8], host="dtn", spec=spec), tmp_path)
    done = preflight("check", "dtn", "--measure")
    found = configuration_of_newest(done)
    assert theirs.read_text() == KEPT
    assert (found["sink"], found["remote_file"], found["remote_folder"]) == ("/dev/null", None, "")
    assert (found["streams"], found["size_bytes"]) == (2, SIZE), "everything else is repeated"
    assert f"as in {run}: download, 2 streams" in done.said
    for flag, value in (("REMOTE_FILE", "theirs.dat"), ("--to", ".bashrc"), ("--remote-folder", "/nowhere")):
        assert flag in done.said and value in done.said, "the user is told what to name again"


def test_a_profile_pins_its_settings_whatever_else_is_measured(preflight, tmp_path):
    quick = ["dtn", "--size", "1MB", "--no-route"]
    assert preflight(*quick, "--streams", "2", "--profile", "nightly").code in (0, 4)
    assert preflight(*quick, "--streams", "3").code in (0, 4)

    of_profile = configuration_of_newest(preflight("check", "--profile", "nightly", "--measure"))
    of_all = configuration_of_newest(preflight("check", "dtn", "--measure"))

    assert (of_profile["streams"], of_profile["size_bytes"]) == (2, 1_000_000), "as pinned, not as measured last"
    assert of_all["streams"] == 3, "a profile does not move what is repeated without one"
    store = Store.open(tmp_path, create=False)
    assert [past.profile for past in load(store, "dtn")] == ["nightly", "", "nightly", ""]
    assert len(load_profile(store, get_profile(store, "nightly"), "dtn", 300)) == 2


def test_files_and_folders_are_those_of_the_command_line(end, preflight, tmp_path):
    before = TransferSpec(sink="/nowhere/x", remote_file="x", route=False)
    store_result(measurement([9e8], host="dtn", spec=before), tmp_path)
    mine = tmp_path / "mine.dat"
    done = preflight("check", "dtn", str(end.make("mine.dat", SIZE)), "--to", str(mine))
    assert configuration_of_newest(done)["sink"] == str(mine)
    assert mine.stat().st_size == SIZE
