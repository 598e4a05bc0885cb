"""Running commands as an ordinary user, to test that experiments run without root."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flightpath.project import PROJECT

UID = 54321


def as_ordinary_user(argv: list[str]) -> list[str]:
    """The command as an ordinary user who may make TAP devices; on most machines udev allows that."""
    tun = 'mknod -m 666 "$1" c 10 200 && mount --bind "$1" /dev/net/tun && rm "$1" && shift && exec "$@"'
    dropped = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", *argv]
    return ["unshare", "--mount", "sh", "-c", tun, "sh", f"/var/tmp/flightpath-tun-{time.monotonic_ns()}", *dropped]


@contextlib.contextmanager
def results_of_ordinary_user() -> Iterator[Path]:
    """A folder that this user may write to, removed after the block; skips the test if the user cannot run here."""
    if os.getuid() != 0:
        pytest.skip("the other tests run without root already")
    if subprocess.run(as_ordinary_user(["unshare", "--user", "true"]), capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let an ordinary user make namespaces")
    if subprocess.run(as_ordinary_user(["ls", str(PROJECT)]), capture_output=True, check=False).returncode:
        pytest.skip(f"an ordinary user cannot read {PROJECT}")
    results = Path(f"/var/tmp/flightpath-test-{os.getpid()}-{time.monotonic_ns()}")
    results.mkdir()
    os.chown(results, UID, UID)
    try:
        yield results
    finally:
        subprocess.run(["rm", "-rf", str(results)], check=True)
