"""Profiles: what they pin, what belongs to their history, and what does not move it."""

import pytest

from probes.preflight.history.past import load
from probes.preflight.history.profiles import (
    SCENARIO_OF_PROFILES,
    add_profile,
    adopt,
    get_profile,
    load_profile,
    profiles,
)
from probes.preflight.spec import TransferSpec
from results.store.store import Store
from tests.support.preflight_made_up import HOST, day, noisy, store_daily, upload

FOUR = TransferSpec(streams=4)


def test_a_profile_is_added_listed_shown_and_removed(tmp_path, ask, told):
    added = told("profile", "add", "nersc", "--host", f"me@{HOST}", "--size", "2GB", "--streams", "4")
    assert added["host"] == f"me@{HOST}" and added["configuration"]["size_bytes"] == 2 * 10**9
    ask("profile", "add", "mesh", "--from", "a,me@b", "--time", "1s")
    listed = ask("profile", "list").out
    assert "download, 4 streams, size 2 GB" in listed and "a, me@b to a, me@b: upload" in listed
    assert told("profile", "show", "mesh")["from"] == ["a", "me@b"]
    assert get_profile(Store.open(tmp_path), "mesh").paths == ("a/b", "b/a")
    ask("profile", "remove", "nersc")
    assert [each.name for each in profiles(Store.open(tmp_path))] == ["mesh"]
    refused = ask("check", "--profile", "nersc", code=2).err
    assert "there is no profile 'nersc'" in refused and "mesh" in refused


def test_a_colleagues_measurements_move_no_profile(steady, told):
    """Twelve days without a name, then a profile; then a colleague measures the same machine in a worse way."""
    store = Store.open(steady)
    profile = add_profile(store, "nightly", TransferSpec(), host=HOST, since=day(11.5))
    store_daily(steady, [900e6], first_day=12, profile="nightly")
    store_daily(steady, [300e6] * 3, first_day=13, spec=FOUR)
    store_daily(steady, [300e6] * 3, first_day=16)
    pasts = load_profile(store, profile, HOST, 300)
    assert [(past.at - day(0)).days for past in pasts] == list(range(13)), "what was measured before is its history"
    found = told("check", "--profile", "nightly")
    assert (found["verdict"], found["history"]["count"], found["today"]["profile"]) == ("within", 12, "nightly")
    assert told("check", HOST, code=1)["verdict"] == "below", "without a profile they count"
    predicted = told("predict", "--profile", "nightly", "--max-age", "9000d")
    assert predicted["measurements"] == 13 and predicted["expected"]["goodput"]["low"] > 700e6
    assert len(told("history", "--profile", "nightly")["measurements"]) == 13


def test_old_histories_become_profiles_by_what_they_measured(steady, told):
    store_daily(steady, noisy(3), spec=upload(streams=4), first_day=12)
    store_daily(steady, noisy(2), spec=FOUR, first_day=15, profile="earlier")
    store_daily(steady, noisy(1), spec=TransferSpec(streams=8), first_day=17)
    for path in ("a/b", "b/a"):
        store_daily(steady, noisy(2), host=path, spec=upload(), first_day=18)
    found = {each["profile"]: each for each in told("profile", "adopt")["profiles"]}
    counts = {HOST: 12, f"{HOST}-upload-4-streams": 3, "earlier": 2, "matrix-upload": 4}
    assert {name: each["measurements"] for name, each in found.items()} == counts
    assert sorted(found["matrix-upload"]["from"]) == sorted(found["matrix-upload"]["to"]) == ["a", "b"]
    assert found["earlier"]["configuration"]["streams"] == 4
    assert adopt(Store.open(steady), None) == [], "each has one now"


def test_a_profile_like_a_measurement_pins_its_settings_and_asks_for_its_files(steady, ask):
    spec = TransferSpec(remote_file="run7.tar", sink="/scratch/run7.tar", streams=2)
    (run,) = store_daily(steady, [9e8], spec=spec, first_day=12)
    ask("profile", "add", "tar", "--like", run)
    refused = ask("--profile", "tar", code=2).err
    assert "REMOTE_FILE run7.tar and --to /scratch/run7.tar" in refused and "name it" in refused
    assert "would change its remote file" in ask(HOST, "other.tar", "--profile", "tar", code=2).err
    ask("profile", "add", "other", "--like", run, "--streams", "3", code=2)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["profile", "add"], "of which name?"),
        (["profile", "add", "../x", "--host", "h"], "is no name of a profile"),
        (["profile", "add", "mesh", "--host", "h"], "profile 'mesh' exists"),
        (["profile", "add", "x"], "of which path?"),
        (["profile", "add", "x", "--host", "h", "--to", "b"], "of which path?"),
        (["profile", "add", "x", "--like", "20"], "20"),
        (["profile", "show", "mehs"], "did you mean 'mesh'?"),
        (["profile", "remove", "other"], "there is no profile 'other'"),
        (["check"], "no path is named"),
        (["--json"], "no machine is named"),
        (["check", "elsewhere", "--profile", "mesh"], "does not measure 'elsewhere'"),
        (["history", "--profile", "mesh"], "measures several paths"),
        (["history", "a/b", "--profile", "mesh"], "preflight --from a,b --profile mesh"),
        (["--profile", "mesh"], "--from a,b --to a,b --profile mesh"),
        (["--profile", "nobody"], "there is no profile 'nobody'"),
        (["check", HOST, "--measure", "--profile", "nobody"], "there is no profile 'nobody'"),
        ([HOST, "--profile", "nightly", "--mptcp"], "would change its mptcp"),
        ([HOST, "--profile", "nightly", "--forget"], "belongs to no profile"),
        (["elsewhere", "--profile", "nightly"], "does not measure 'elsewhere'"),
        (["--from", "a,c", "--profile", "mesh"], "measures other sites"),
        (["--from", "a,b", "--profile", "mesh", "--download"], "would change its direction"),
    ],
)
def test_what_is_no_profile_or_not_the_profiles_is_refused_before_anything_is_measured(steady, ask, words, complaint):
    store = Store.open(steady)
    add_profile(store, "mesh", upload(), sources=["a", "b"], targets=["a", "b"])
    add_profile(store, "nightly", TransferSpec(), host=HOST)
    refused = ask(*words, code=2)
    assert not refused.out and complaint in refused.err
    assert (len(load(store, HOST)), len(profiles(store))) == (12, 2)


@pytest.mark.parametrize(
    "plan",
    [
        {"profile": "theirs"},
        {"profile": "theirs", "host": HOST, "configuration": {"streams": "many"}},
        {"profile": "theirs", "host": ["x"], "configuration": {}},
        {"profile": "theirs", "from": 5, "to": [], "configuration": {}},
    ],
)
def test_a_record_that_is_no_profile_is_left_out_and_named_when_it_is_asked_for(tmp_path, ask, told, plan):
    Store.open(tmp_path).begin_run(SCENARIO_OF_PROFILES, plan, {}, ["x"])
    assert told("profile", "list") == {"profiles": []}
    assert "of another version" in ask("check", "--profile", "theirs", code=2).err
