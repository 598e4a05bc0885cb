"""Channels to a network: what a user's process lacks."""

import pwd
from pathlib import Path

from python_api import channels


def test_a_user_without_an_entry_and_without_a_home_gets_one(monkeypatch):
    def missing(uid):
        raise KeyError(uid)

    for name in ("HOME", "LOGNAME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", missing)
    channels.ensure_home()
    assert Path.home() == Path("/")
