"""Programs: how they are run, found, watched and ended."""

import os
import signal
import subprocess
import sys

import pytest

from flightpath import commands
from flightpath.commands import CommandFailed, end, require, run
from flightpath.errors import MeasurementFailed, MissingCapability
from flightpath.hosts import await_end, running
from flightpath.processes import descendants, has_id, in_user_namespace, is_machine_root, read_id_map
from flightpath.waiting import wait_until
from tests.support.finished import finished
from tests.support.ssh_far_end import LocalHost


def test_root_of_a_user_namespace_is_not_root_of_the_machine():
    code = "from flightpath.processes import *; print(in_user_namespace(), is_machine_root(), read_id_map('uid'))"
    done = finished(["unshare", "--user", "--map-root-user", sys.executable, "-c", code])
    if "unshare" in done.stderr:
        pytest.skip("this machine does not let this user make namespaces")
    assert done.stdout.split() == ["True", "False", "0", str(os.getuid()), "1"]


def test_outside_of_user_namespaces_root_is_root():
    if in_user_namespace():
        pytest.skip("these tests run in a user namespace")
    assert is_machine_root() is (os.geteuid() == 0)
    assert has_id(read_id_map("gid"), 65534)


def test_descendants_are_found_with_what_they_run():
    with subprocess.Popen(["sh", "-c", "sleep 61 & sleep 62 & wait"], start_new_session=True) as parent:
        sleeping = {"sleep 61", "sleep 62"}  # a child is another `sh` until it has started its program
        wait_until(lambda: {each.command_line for each in descendants(parent.pid)[1:]} == sleeping, "two children", 10)
        first, *others = descendants(parent.pid)
        assert first.pid == parent.pid and len(others) == 2
        for each in (*others, first):
            os.kill(each.pid, signal.SIGKILL)
    assert first.command_line == ""


def test_both_outputs_are_kept():
    with running(LocalHost(), ["sh", "-c", "echo out; echo err >&2"]) as process:
        assert await_end(process, 10, lambda: None, "too late") == ("out\n", "err\n")


def gone() -> None:
    raise MeasurementFailed("a link is gone")


@pytest.mark.parametrize(("limit_s", "watch", "said"), [(0.3, lambda: None, "too late"), (10, gone, "a link is gone")])
def test_what_takes_too_long_or_is_watched_to_fail_is_an_error_and_ends(limit_s, watch, said):
    with pytest.raises(MeasurementFailed, match=said), running(LocalHost(), ["sleep", "600"]) as process:
        await_end(process, limit_s, watch, "too late")
    assert process.returncode == -9


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
    stubborn = ["sh", "-c", "trap '' TERM; echo ready; exec sleep 60"]
    with subprocess.Popen(stubborn, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        end(process, grace_s=0.2)
    assert process.returncode == -9


def test_the_newest_postgresql_is_used_and_none_is_a_missing_capability(monkeypatch, tmp_path):
    monkeypatch.setattr(commands, "POSTGRESQL", tmp_path)
    with pytest.raises(MissingCapability, match="make setup"):
        commands.postgresql_programs()
    for version in ("9.6", "15", "17"):
        program = tmp_path / version / "bin" / "initdb"
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
    assert commands.postgresql_programs() == tmp_path / "17" / "bin"
