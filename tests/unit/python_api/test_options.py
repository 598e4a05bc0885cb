"""Keyword arguments become the words of a scenario's command line, and are checked before anything is started."""

import ast
import pwd
from pathlib import Path

import numpy as np
import pytest

import flightpath
from experiments import catalogue
from flightpath.errors import UsageError
from flightpath.project import PROJECT
from python_api import channels
from python_api.options import words_for

LOAD = catalogue.find("mptcp_load")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loads": [500, 800]}, ["--loads=500,800"]),
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
        ({"dry_run": True}, "no option 'dry_run'"),
        ({"loads": ["many"]}, "many"),
        ({"loads": True}, "loads: True is no value"),
        ({"full": "yes"}, "full: 'yes' is neither True nor False"),
        ({"repeat": 0}, "repeat: 0 is less than 1"),
        ({"repeat": "often"}, "argument --repeat: invalid int value: 'often'"),
        ({"only": {"protocol": "tpc"}}, "protocol has no value 'tpc'"),
        ({"event": "down"}, "down"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, message):
    with pytest.raises(UsageError) as error:
        words_for(LOAD, options)
    assert message in str(error.value)


def test_run_refuses_before_it_starts_anything(tmp_path):
    for name, options in (("mptcp_lod", {}), ("mptcp_load", {"lods": [1]}), ("mptcp_load", {"form": "short"})):
        with pytest.raises(UsageError):
            flightpath.run(name, results=tmp_path / "runs", **options)
    assert not (tmp_path / "runs").exists()


def test_each_public_name_is_there_and_explained_without_words_of_the_inside():
    assert {"Network", "Run", "load", "run"} <= set(flightpath.__all__)
    for name in flightpath.__all__:
        public = getattr(flightpath, name)
        assert public.__doc__, name
        texts = [public.__doc__, *(it.__doc__ or "" for key, it in vars(public).items() if not key.startswith("_"))]
        assert "sandbox" not in " ".join(texts).lower(), name
    assert set(flightpath.__all__) <= set(dir(flightpath)) and not hasattr(flightpath, "lod")


def test_type_checkers_see_the_same_names():
    tree = ast.parse((PROJECT / "flightpath" / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    assert {name.name for statement in block.body for name in statement.names} == set(flightpath.__all__)
    assert all((PROJECT / package / "py.typed").exists() for package in ("flightpath", "python_api"))


def test_how_the_process_of_a_network_ended_is_told_with_what_it_printed(monkeypatch):
    monkeypatch.setattr(channels, "_MODULE", "this")
    channel = channels.ProcessChannel()
    assert channel.why_ended().endswith("let's do more of those!")
    channel.close()


def test_a_user_without_an_entry_and_without_a_home_gets_one(monkeypatch):
    for name in ("HOME", "LOGNAME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    channels.ensure_home()
    assert Path.home() == Path("/")
