"""The sandbox: all of it ends at once, whichever process is killed, and nothing outside is touched."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from flightpath.errors import MeasurementFailed, UsageError
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.finished import finished
from tests.support.process_list import mentioning, sandbox_processes, waits_in
from tests.support.terminal import Terminal
from topologies.sandbox import sandbox

RUN = """
import subprocess, sys
from flightpath.command_line import exit_code_of
from topologies.sandbox import sandbox
def main():
    child = subprocess.Popen(["sleep", "{mark}"], start_new_session=True)
    print("ready", flush=True)
    child.wait()
    return 0
sys.exit(exit_code_of(lambda: sandbox.run_inside(main)))
"""

SLOW_TO_START = """
import os, time
fork, generation = os.fork, 0
def slow_fork():
    global generation
    generation += 1
    child = fork()
    if child == 0 and generation == {level}:
        print("forked", flush=True)
        time.sleep(0.3)
    return child
os.fork = slow_fork
"""
"""Begins RUN such that supervisor, keeper or init (level 1, 2 or 3) have a child that is late."""


@pytest.fixture
def running():
    mark = f"{100000 + os.getpid()}.{time.monotonic_ns() % 10**6}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", RUN.format(mark=mark)], cwd=PROJECT, **pipes)
    assert process.stdout.readline() == "ready\n"
    yield process, mark
    process.kill()
    process.communicate()


@pytest.mark.parametrize("level", [0, 1, 2, 3], ids=["supervisor", "keeper", "init", "main"])
def test_kill_9_of_any_process_ends_all_of_them(running, level):
    process, mark = running
    chain = sandbox_processes(process.pid)
    wait_until(lambda: bool(mentioning(f"sleep {mark}")), "what the sandbox has started", 30)

    os.kill(chain[level], signal.SIGKILL)

    stderr = process.communicate(timeout=30)[1]
    assert ("error: the run was ended by SIGKILL" in stderr) == (level > 0)
    wait_until(lambda: not mentioning(mark), "all processes of the sandbox to end", 30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts_the_run_with_exit_code_130(running, number):
    process, mark = running
    wait_until(lambda: waits_in(sandbox_processes(process.pid)[-1], "do_wait"), "the run to wait for its program", 30)

    process.send_signal(number)

    assert process.wait(timeout=30) == 130
    assert not mentioning(mark)


@pytest.mark.parametrize("signalled", ["SIGINT", "SIGTERM", "Ctrl-C"])
@pytest.mark.parametrize("level", [1, 2, 3], ids=["keeper", "init", "main"])
def test_a_signal_while_the_sandbox_is_made_is_not_lost(level, signalled):
    mark = f"{100000 + os.getpid()}.{time.monotonic_ns() % 10**6}"
    with Terminal([sys.executable, "-c", SLOW_TO_START.format(level=level) + RUN.format(mark=mark)]) as terminal:
        terminal.read_until("forked")
        if signalled == "Ctrl-C":
            terminal.type("\x03")
        else:
            os.kill(terminal.pid, signal.Signals[signalled])
        assert terminal.exit_code() == 130
    assert not mentioning(mark)


@pytest.mark.parametrize("folder", ["/run", "/dev/shm"])
def test_a_folder_is_private_and_those_kept_in_it_stay_visible(folder):
    with tempfile.TemporaryDirectory(dir=folder, prefix="flightpath-test-") as name:
        kept = Path(name)

        def main() -> int:
            (kept / "result").write_text("kept")
            Path(folder, "lost").write_text("private")
            return 7

        assert sandbox.run_inside(main, keep=[kept]) == 7
        assert (kept / "result").read_text() == "kept"
        assert not Path(folder, "lost").exists()


def test_what_a_function_returns_or_raises_inside_comes_out():
    assert len(sandbox.call_inside(lambda: b"x" * (1 << 20))) == 1 << 20
    assert sandbox.call_inside(os.getpid) < 10
    with pytest.raises(UsageError, match="it is so\n  do this"):
        sandbox.call_inside(lambda: (_ for _ in ()).throw(UsageError("it is so", "do this")))
    with pytest.raises(MeasurementFailed, match="the run was ended by SIGKILL"):
        sandbox.call_inside(lambda: os.kill(os.getpid(), signal.SIGKILL))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_that_may_not_set_up_networks_is_told_before_anything_starts():
    tried = "from topologies.sandbox import sandbox; sys.exit(exit_code_of(sandbox.require))"
    argv = [sys.executable, "-c", f"import sys; from flightpath.command_line import exit_code_of; {tried}"]
    for caps, code in (("+all", 0), ("-net_admin", 3)):
        done = finished(["setpriv", f"--bounding-set={caps}", *argv])
        assert (done.returncode, "interface lo does not come up" in done.stderr) == (code, code == 3), done.stderr
