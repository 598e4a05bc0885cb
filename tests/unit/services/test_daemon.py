"""A daemon is watched and stopped with programs that every machine has."""

import signal

import pytest

from flightpath.errors import MeasurementFailed, StartFailed
from flightpath.processes import Process, family
from services.running.daemon import Daemon, DaemonService
from tests.support.ssh_far_end import LocalHost


def daemon(tmp_path, script):
    return Daemon(LocalHost(), "the daemon", ["sh", "-c", script], tmp_path / "log", hint="look at it")


def says(tmp_path, word):
    return lambda: word in (tmp_path / "log").read_text()


def test_it_is_ready_when_it_answers_and_gone_when_stopped(tmp_path):
    started = daemon(tmp_path, "echo ready; exec sleep 600").start(says(tmp_path, "ready"))
    started.check()
    assert Process.read(started.pid) is not None
    started.stop()
    assert Process.read(started.pid) is None
    started.stop()


def test_one_that_never_answers_is_stopped_and_is_an_error(tmp_path):
    silent = daemon(tmp_path, "echo still loading; exec sleep 600")
    with pytest.raises(StartFailed, match=r"is not ready after 1 s; its log ends:\nstill loading"):
        silent.start(lambda: False, timeout_s=1)
    assert Process.read(silent.pid) is None


def test_one_that_ignores_the_signal_is_killed_with_its_workers(tmp_path):
    stubborn = daemon(tmp_path, "trap '' TERM; sleep 600 & echo ready; while :; do sleep 600; done")
    stubborn.start(says(tmp_path, "ready"))
    members = family(stubborn.pid)
    assert len(members) >= 2
    stubborn.stop(timeout_s=0.1)
    assert [process for process in members if process.is_alive()] == []


def test_workers_that_outlive_a_killed_parent_are_found(tmp_path):
    parent = daemon(tmp_path, "sleep 600 & echo ready; wait").start(says(tmp_path, "ready"))
    (worker,) = [process for process in family(parent.pid) if process.pid != parent.pid]
    parent._process.send_signal(signal.SIGKILL)
    parent._process.wait()
    with pytest.raises(MeasurementFailed, match="ended by SIGKILL"):
        parent.check()
    assert worker.is_alive()
    parent.stop()
    assert not worker.is_alive()


def test_cpu_time_counts_children_that_have_ended(tmp_path):
    busy = daemon(tmp_path, "head -c 300000000 /dev/zero | cksum; echo ready; exec sleep 600")
    busy.start(says(tmp_path, "ready"))
    assert busy.cpu_seconds() > 0.05
    busy.stop()


class Sleeper(DaemonService):
    """A service that writes its configuration, and removes it in the end."""

    daemon_name, log_name = "the sleeper", "sleeper.log"
    ends_at_once = False

    @property
    def configuration(self):
        return self.folder / "sleeper.conf"

    def _prepare(self):
        self.configuration.touch()

    def _argv(self):
        return ["sh", "-c", "echo ready; exit 7" if self.ends_at_once else "echo ready; exec sleep 600"]

    def _is_ready(self):
        return not self.ends_at_once and "ready" in (self.folder / self.log_name).read_text()

    def _clean_up(self):
        self.configuration.unlink()


def test_a_service_is_prepared_checked_and_cleaned_up(tmp_path):
    with Sleeper(LocalHost(), tmp_path) as service:
        service.check()
        pid = service.pid
        assert Process.read(pid) is not None
        assert service.configuration.exists()
    assert Process.read(pid) is None
    assert not service.configuration.exists()


def test_a_service_that_ends_at_once_is_cleaned_up_and_an_error_with_its_log_and_a_hint(tmp_path):
    service = Sleeper(LocalHost(), tmp_path)
    service.ends_at_once = True
    with pytest.raises(
        StartFailed, match=r"sleeper on local ended with exit code 7; its log ends:\nready\n.*port may be taken"
    ):
        service.__enter__()
    assert not service.configuration.exists()
