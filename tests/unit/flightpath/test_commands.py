import subprocess
import time

import pytest

from flightpath import commands
from flightpath.commands import CommandFailed, end, require, run
from flightpath.errors import MissingCapability


def test_what_a_program_prints_is_returned():
    assert run(["cat"], stdin="hello") == "hello"


@pytest.mark.parametrize(
    ("script", "limit_s", "said"),
    [
        ("echo no such thing >&2; exit 3", 60, "exit code 3: no such thing"),
        ("kill -KILL $$", 60, "ended by SIGKILL: perhaps the kernel ran out of memory"),
        ("exec sleep 60", 0.1, r"timed out after 0\.1 s"),
    ],
)
def test_a_program_that_fails_is_killed_or_does_not_end_is_an_error_with_what_happened(script, limit_s, said):
    with pytest.raises(CommandFailed, match=said):
        run(["sh", "-c", script], timeout_s=limit_s)


def test_a_missing_program_names_the_way_out():
    for call in (lambda: run(["flightpath-nosuch"]), lambda: require("flightpath-nosuch")):
        with pytest.raises(MissingCapability, match="make setup"):
            call()


def test_a_stubborn_program_is_killed():
    process = subprocess.Popen(["sh", "-c", "trap '' TERM; echo ready; exec sleep 60"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    begun = time.monotonic()

    end(process, grace_s=0.2)

    assert process.returncode == -9
    assert time.monotonic() - begun < 30
    process.stdout.close()


def test_missing_postgresql_is_a_missing_capability(monkeypatch, tmp_path):
    monkeypatch.setattr(commands, "POSTGRESQL", tmp_path)
    with pytest.raises(MissingCapability, match="make setup"):
        commands.postgresql_programs()


def test_the_newest_postgresql_is_used(monkeypatch, tmp_path):
    for version in ("9.6", "15", "17"):
        program = tmp_path / version / "bin" / "initdb"
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
    monkeypatch.setattr(commands, "POSTGRESQL", tmp_path)
    assert commands.postgresql_programs() == tmp_path / "17" / "bin"
