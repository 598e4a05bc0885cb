"""The folder that a guest shares with this machine goes, whichever of its processes are killed."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from execution.guests.shared_folder import shared_folder
from flightpath.project import PROJECT
from flightpath.waiting import wait_until

OWNER = """
from execution.guests.shared_folder import shared_folder
with shared_folder() as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    input()
"""


@dataclass
class Owner:
    """A process with a shared folder, and the process that removes the folder after it."""

    process: subprocess.Popen
    folder: Path
    remover: int

    def end(self) -> None:
        """Lets it come to its normal end."""
        self.process.communicate("\n", timeout=30)


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)  # what this process found before


@contextlib.contextmanager
def owner() -> Iterator[Owner]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", OWNER], cwd=PROJECT, **pipes)
    try:
        folder = Path(process.stdout.readline().strip())
        (remover,) = children(process.pid)
        yield Owner(process, folder, int(remover))
    finally:
        process.kill()
        process.communicate()


def test_it_is_there_while_its_owner_lives_and_gone_afterwards(tmp_path):
    with owner() as one:
        assert one.folder.parent == tmp_path and (one.folder / "file").exists()
        one.end()
        assert not any(tmp_path.iterdir())


def test_it_goes_with_an_owner_that_is_killed(tmp_path):
    with owner() as one:
        one.process.kill()
        wait_until(lambda: not any(tmp_path.iterdir()), "the folder to go", 30)


def test_it_goes_at_the_owners_end_if_what_removes_it_was_killed(tmp_path):
    with owner() as one:
        assert not children(one.remover), "the end of a helper would look like the owner's"
        os.kill(one.remover, signal.SIGKILL)
        one.end()
        assert not any(tmp_path.iterdir())


def test_the_next_owner_removes_those_of_owners_that_were_killed_and_no_others(tmp_path):
    with owner() as lives, owner() as dies:
        os.kill(dies.remover, signal.SIGKILL)
        dies.process.kill()
        dies.process.wait()
        assert dies.folder.exists()
        with shared_folder() as folder:
            assert {*tmp_path.iterdir()} == {lives.folder, folder}
        assert {*tmp_path.iterdir()} == {lives.folder}
