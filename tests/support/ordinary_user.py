"""Commands as a user without root: that every experiment runs for one is worth a test only if the test is one too."""

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
    """The command without root, on a machine where users may make TAP devices (what udev sees to elsewhere)."""
    tun = 'mknod -m 666 "$1" c 10 200 && mount --bind "$1" /dev/net/tun && rm "$1" && shift && exec "$@"'
    dropped = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", *argv]
    return ["unshare", "--mount", "sh", "-c", tun, "sh", f"/var/tmp/flightpath-tun-{time.monotonic_ns()}", *dropped]


@contextlib.contextmanager
def results_of_ordinary_user() -> Iterator[Path]:
    """A folder where that user may write, gone after the block; skips, by name, where the user could do nothing."""
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
