"""Channels to a network: what a user's process lacks."""

import pwd
from pathlib import Path

from python_api import channels


def test_a_user_without_an_entry_and_without_a_home_gets_one(monkeypatch):
    def missing(uid):
        raise KeyError(uid)

    monkeypatch.setenv("HOME", "")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", missing)
    channels._ensure_home()
    assert Path.home() == Path("/")
