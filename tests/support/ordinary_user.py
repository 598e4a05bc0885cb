"""Running commands as an ordinary user, to test that experiments run without root."""

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from flightpath.project import PROJECT

UID = 54321


def dropped(argv: Sequence[str]) -> list[str]:
    """The command as a user who owns nothing and is in no group."""
    return ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", *argv]


def require_ordinary_user() -> None:
    """Skips the test where no ordinary user can run this project's programs."""
    if os.getuid() != 0:
        pytest.skip("the other tests run without root already")
    if subprocess.run(dropped(["ls", str(PROJECT)]), capture_output=True, check=False).returncode:
        pytest.skip(f"an ordinary user cannot read {PROJECT}")


def as_ordinary_user(argv: list[str]) -> list[str]:
    """The command as an ordinary user who may make TAP devices; on most machines udev allows that."""
    tun = 'mknod -m 666 "$1" c 10 200 && mount --bind "$1" /dev/net/tun && rm "$1" && shift && exec "$@"'
    device = f"/var/tmp/flightpath-tun-{time.monotonic_ns()}"
    return ["unshare", "--mount", "sh", "-c", tun, "sh", device, *dropped(argv)]


@contextlib.contextmanager
def results_of_ordinary_user() -> Iterator[Path]:
    """A folder that this user may write to, removed after the block; skips the test if the user cannot run here."""
    require_ordinary_user()
    if subprocess.run(as_ordinary_user(["unshare", "--user", "true"]), capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let an ordinary user make namespaces")
    with tempfile.TemporaryDirectory(prefix="flightpath-test-", dir="/var/tmp") as name:
        os.chown(name, UID, UID)
        yield Path(name)
