"""Keyword arguments become the words of a scenario's command line, and are checked before anything is started."""

import numpy as np
import pytest

import flightpath
from experiments import catalogue
from flightpath.errors import UsageError
from python_api.options import words_for

LOAD = catalogue.find("mptcp_load")
UNEQUAL = catalogue.find("multipath_unequal")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loads": [500, 800]}, ["--loads=500,800"]),
        ({"loads": range(500, 900, 300)}, ["--loads=500,800"]),
        ({"loads": np.array([500, 800])}, ["--loads=500,800"]),
        ({"loads": "500,800"}, ["--loads=500,800"]),
        ({"loads": 500, "repeat": 2, "clock": "virtual"}, ["--loads=500", "--repeat=2", "--clock=virtual"]),
        ({"clock": None, "full": False}, []),
        ({"full": True, "on_this_machine": True}, ["--full", "--on-this-machine"]),
        ({"only": {"protocol": ["tcp", "mptcp"]}}, ["--only=protocol=tcp", "--only=protocol=mptcp"]),
        ({"event": ["10s h1-s1 down", "20s h1-s1 up"]}, ["--event=10s h1-s1 down", "--event=20s h1-s1 up"]),
    ],
)
def test_options_become_words(options, words):
    assert words_for(LOAD, options) == words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"load": [500]}, "mptcp_load has no option 'load'\n  did you mean 'loads'"),
        ({"json": True}, "no option 'json'"),
        ({"dry_run": True}, "no option 'dry_run'"),
        ({"loads": ["many"]}, "many"),
        ({"loads": True}, "loads: True is no value"),
        ({"full": "yes"}, "full: 'yes' is neither True nor False"),
        ({"repeat": 0}, "repeat: 0 is less than 1"),
        ({"repeat": "often"}, "argument --repeat: invalid int value: 'often'"),
        ({"clock": "slow"}, "argument --clock: invalid choice: 'slow'"),
        ({"only": {"protocol": "tpc"}}, "protocol has no value 'tpc'"),
        ({"event": "down"}, "down"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, message):
    with pytest.raises(UsageError) as error:
        words_for(LOAD, options)
    assert message in str(error.value)


def test_run_refuses_before_it_starts_anything(tmp_path):
    for call in (
        lambda: flightpath.run("mptcp_lod", results=tmp_path / "runs"),
        lambda: flightpath.run("mptcp_load", lods=[1], results=tmp_path / "runs"),
        lambda: flightpath.run("mptcp_load", form="short", results=tmp_path / "runs"),
    ):
        with pytest.raises(UsageError):
            call()
    assert not (tmp_path / "runs").exists()


def test_each_scenario_takes_its_own_defaults():
    for name in catalogue.names():
        assert words_for(catalogue.find(name), {"repeat": 1, "seed": 3}) == ["--repeat=1", "--seed=3"]
    assert words_for(UNEQUAL, {"seconds": 4}) == ["--seconds=4"]
