import os
import signal
import subprocess
import sys

import pytest

from flightpath.processes import descendants, has_id, in_user_namespace, is_machine_root, read_id_map
from flightpath.project import PROJECT
from flightpath.waiting import wait_until

SUBORDINATE = "         0       1000          1\n         1     100000      65536\n"


@pytest.mark.parametrize(("number", "exists"), [(0, True), (1, True), (65536, True), (65537, False)])
def test_ids_are_looked_up_in_all_ranges(number, exists):
    assert has_id(SUBORDINATE, number) is exists


def test_root_of_a_user_namespace_is_not_root_of_the_machine():
    code = "from flightpath.processes import *; print(in_user_namespace(), is_machine_root(), read_id_map('uid'))"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", sys.executable, "-c", code],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
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
        wait_until(lambda: len(descendants(parent.pid)) == 3, "two children", 10)
        first, *others = descendants(parent.pid)
        assert first.pid == parent.pid
        assert {each.command_line for each in others} == {"sleep 61", "sleep 62"}
        for each in (*others, first):
            os.kill(each.pid, signal.SIGKILL)
    assert first.command_line == ""
