import os

import pytest

from flightpath.errors import UsageError
from services.running.privileges import Privileges, Situation, situation

EVERYONE = "         0          0 4294967295\n"
ONLY_ROOT = "         0       1000          1\n"
WITH_SUBUIDS = "         0       1000          1\n         1     100000      65536\n"
NOBODY = 65534


@pytest.mark.parametrize(
    ("euid", "uid_map", "gid_map", "expected"),
    [
        (0, EVERYONE, EVERYONE, Situation.ROOT),
        (0, ONLY_ROOT, ONLY_ROOT, Situation.FAKE_ROOT),
        (0, WITH_SUBUIDS, WITH_SUBUIDS, Situation.ROOT),
        (0, WITH_SUBUIDS, ONLY_ROOT, Situation.FAKE_ROOT),
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
