"""Identity of the program that made a run, so that a comparison can name it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from flightpath.identity import PROJECT, identity
from scenarios.command.runner import _environment
from tests.support.checkouts import commit_all, git
from tests.support.ordinary_user import UID


@pytest.fixture
def checkout(tmp_path) -> Path:
    (tmp_path / "file").write_text("first")
    commit_all(tmp_path)
    git(tmp_path, "tag", "v9")
    return tmp_path


def test_a_commit_is_named_and_a_changed_file_too(checkout):
    commit = git(checkout, "rev-parse", "HEAD")[:12]
    (checkout / "untracked").touch()
    assert identity(checkout)["commit"] == commit
    (checkout / "file").write_text("second")
    named = identity(checkout)["commit"]
    assert re.fullmatch(f"{commit}, modified [0-9a-f]{{8}}", named)
    (checkout / "file").write_text("third")
    assert identity(checkout)["commit"] != named, "machines of a cluster may have changed it otherwise"
    (checkout / "file").write_text("second")
    assert identity(checkout)["commit"] == named
    (checkout / "file").unlink()
    assert identity(checkout)["commit"] not in (commit, named)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_runs_nothing_that_another_user_s_checkout_names(checkout):
    runs = f"sh -c 'id -u >> {checkout}/users; cat' #"
    (checkout / ".gitattributes").write_text("* filter=own")
    for name in ("core.fsmonitor", "filter.own.clean", "diff.external", "core.pager"):
        git(checkout, "config", name, runs)
    (checkout / "file").write_text("other")
    subprocess.run(["chown", "-R", f"{UID}:{UID}", checkout], check=True)
    for folder in (checkout, *(each for each in checkout.parents if each.stat().st_mode & 0o777 == 0o700)):
        folder.chmod(0o755)
    assert re.fullmatch("[0-9a-f]{12}, modified [0-9a-f]{8}", identity(checkout)["commit"])
    assert set((checkout / "users").read_text().split()) == {str(UID)}, "a filter runs as the checkout's owner"


def test_what_is_no_checkout_has_a_version_alone(checkout):
    (checkout / "below").mkdir()
    assert list(identity(checkout / "below")) == ["flightpath"]


def test_a_run_records_it():
    assert identity(PROJECT).items() <= _environment().items()
