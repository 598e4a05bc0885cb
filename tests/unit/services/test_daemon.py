"""Daemons: watched and stopped with programs that every machine has, and never root."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from flightpath.errors import MeasurementFailed, StartFailed, UsageError
from flightpath.processes import Process, family
from services import postgres_cluster
from services.running.daemon import Daemon
from services.running.privileges import Privileges, Situation, situation
from tests.support.ssh_far_end import LocalHost


def daemon(tmp_path, script):
    return Daemon(LocalHost(), "the daemon", ["sh", "-c", script], tmp_path / "log", hint="look at it")


def says(tmp_path, word):
    return lambda: word in (tmp_path / "log").read_text()


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


EVERYONE = "         0          0 4294967295\n"
NOBODY = 65534
WITH_NOBODY = f"         0       1000          1\n     {NOBODY}     100000          1\n"
WITHOUT_NOBODY = f"         0       1000          1\n     {NOBODY - 1}     100000          1\n"


@pytest.mark.parametrize(
    ("euid", "uid_map", "gid_map", "expected"),
    [
        (0, EVERYONE, EVERYONE, Situation.ROOT),
        (0, WITHOUT_NOBODY, WITHOUT_NOBODY, Situation.FAKE_ROOT),
        (0, WITH_NOBODY, WITH_NOBODY, Situation.ROOT),
        (0, WITH_NOBODY, WITHOUT_NOBODY, Situation.FAKE_ROOT),
        (1000, EVERYONE, EVERYONE, Situation.ORDINARY),
    ],
)
def test_the_situation_follows_from_the_uid_and_the_maps(euid, uid_map, gid_map, expected):
    assert situation(euid, uid_map, gid_map, NOBODY, NOBODY) is expected


@pytest.mark.parametrize(
    ("situation", "program", "options"),
    [
        (Situation.ROOT, "setpriv", {f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"}),
        (Situation.FAKE_ROOT, "unshare", {"--user", "--ipc", f"--map-user={NOBODY}", f"--map-group={NOBODY}"}),
    ],
)
def test_root_becomes_another_user_for_good_and_fake_root_one_of_a_nested_namespace(situation, program, options):
    prefix = Privileges(situation, NOBODY, NOBODY).prefix(private_ipc=situation is Situation.FAKE_ROOT)
    assert prefix[0].endswith(f"/{program}")
    assert options <= set(prefix)
    assert [word for word in prefix if word.endswith(("/setpriv", "/unshare"))] == prefix[:1]


def test_an_ordinary_user_needs_nothing():
    assert Privileges(Situation.ORDINARY, NOBODY, NOBODY).prefix(private_ipc=True) == []


def test_only_the_daemon_can_enter_its_folder(tmp_path):
    folder = tmp_path / "a" / "b"
    Privileges(Situation.FAKE_ROOT, NOBODY, NOBODY).prepare_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder away")
def test_a_closed_parent_is_named(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(UsageError, match=r"cannot pass through .*\n.*chmod o\+x"):
        Privileges(Situation.ROOT, NOBODY, NOBODY).prepare_folder(closed / "service")


def test_a_cluster_from_the_archive_is_what_initdb_makes(tmp_path, monkeypatch):
    monkeypatch.setattr(postgres_cluster, "build_folder", lambda: tmp_path / "build")
    postgres_cluster.archive_cluster()
    (archive,) = (tmp_path / "build").iterdir()
    made = []
    for _ in ("from the archive", "by initdb"):
        with tempfile.TemporaryDirectory(dir="/tmp") as name:
            folder = Path(name)
            Privileges.detect().give(folder)
            cluster = postgres_cluster.make_cluster(folder, Privileges.detect())
            assert {path.stat().st_uid for path in cluster.rglob("*")} == {folder.stat().st_uid}
            made.append({str(path.relative_to(cluster)) for path in cluster.rglob("*")})
        archive.unlink(missing_ok=True)
    assert made[0] == made[1] > {"PG_VERSION"}
