"""The confinement of a submission (bubblewrap): no network, no files but those that its check needs, bounded memory.

All of a student's code runs in a virtual-time kernel, and that runs in here. So hostile code would have to leave both.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from execution.uml import kernel
from flightpath.commands import require
from flightpath.errors import MeasurementFailed, MissingCapability
from flightpath.launcher import project_python
from flightpath.project import IS_CHECKOUT, PROJECT

SUBMISSION = Path("/submission")
MAX_OUTPUT = 1 << 20
"""Maximum output of a confined command, in bytes; the rest is discarded."""

_TIME_LIMIT_S = 600.0
"""Time limit on this machine's clock; an endless loop is stopped after a minute of processor time."""

_MEMORY_BYTES, _FILES_BYTES = 1536 << 20, 256 << 20
_KERNELS = Path("/kernels")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_POLL_S = 0.1
_PACKAGES = (
    "congestion controllers execution experiments flightpath labs native probes results scenarios services topologies"
)
_SETTINGS = "alternatives ethertypes iproute2 ld.so.cache ld.so.conf ld.so.conf.d nsswitch.conf protocols services"
"""Files in /etc that programs need; none holds passwords, keys or names."""

_ACCOUNTS = Path(__file__).with_name("accounts")
"""A `passwd` and a `group` in place of this machine's: accounts that programs need, and no names of people."""

_UNSEEN = ("labs/solutions",)


def require_it() -> None:
    done = subprocess.run([*_bubblewrap(PROJECT / "labs"), "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingCapability(
            f"submissions cannot be confined here: {done.stderr.strip() or 'bubblewrap fails'}",
            "run it as root, or let users make namespaces: sysctl -w user.max_user_namespaces=10000",
        )


def run(argv: Sequence[str], submission: Path, stop: threading.Event) -> tuple[int, bytes]:
    """Runs Python with a submission in `SUBMISSION`; returns its exit code and output.

    Args:
        stop: ends it when it is set.
    """
    command = [*_bubblewrap(submission), project_python(), "-P", *argv]
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=null, stdout=subprocess.PIPE, stderr=null, start_new_session=True)
    assert process.stdout is not None  # a pipe, as requested
    chunks: list[bytes] = []
    reader = threading.Thread(target=_read, args=(process.stdout, chunks))
    reader.start()
    deadline_s = time.monotonic() + _TIME_LIMIT_S
    try:
        while (code := process.poll()) is None:
            if stop.wait(_POLL_S):
                raise MeasurementFailed("the check was stopped")
            if time.monotonic() > deadline_s:
                raise MeasurementFailed(f"the check took more than {_TIME_LIMIT_S:g} s")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # and all in its PID namespace, or what is about to make that
        process.wait()
        reader.join()
        process.stdout.close()
    return code, b"".join(chunks)


def _read(stream: IO[bytes], chunks: list[bytes]) -> None:
    size = 0
    while chunk := os.read(stream.fileno(), 1 << 16):
        if size < MAX_OUTPUT:
            chunks.append(chunk)
            size += len(chunk)


def _bubblewrap(submission: Path) -> list[str]:
    image = kernel.find().image.parent
    kernels = image.parents[1]
    seen = [file for name in _SETTINGS.split() if (file := Path("/etc") / name).exists()]
    seen += [*_python(), *_sources()]
    folders = dict.fromkeys(folder for file in seen for folder in reversed(file.parents[:-1]))
    return [
        *(require("bwrap"), "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session", "--hostname", "lab", "--clearenv", "--setenv", "PATH", _PATH),
        *("--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8", "--setenv", "FLIGHTPATH_CACHE", str(_KERNELS)),
        *("--setenv", "PYTHONPATH", str(PROJECT)),
        *("--ro-bind", "/usr", "/usr"),
        *(word for name in ("bin", "sbin", "lib", "lib64") for word in ("--symlink", f"usr/{name}", f"/{name}")),
        *("--proc", "/proc", "--dev", "/dev", "--size", str(_MEMORY_BYTES), "--tmpfs", "/dev/shm"),
        *(word for name in ("/tmp", "/run", "/var") for word in ("--size", str(_FILES_BYTES), "--tmpfs", name)),
        *(word for name in ("/root", "/home", "/mnt", "/sys") for word in ("--dir", name)),
        # bwrap would make these for root alone, and sshd and students' programs read there.
        *(word for folder in folders for word in ("--perms", "0755", "--dir", str(folder))),
        *(word for file in seen for word in ("--ro-bind", str(file), str(file))),
        *(word for file in _ACCOUNTS.iterdir() for word in ("--ro-bind", str(file), f"/etc/{file.name}")),
        *("--ro-bind", str(image), str(_KERNELS / image.relative_to(kernels))),
        *("--ro-bind", str(submission), str(SUBMISSION)),
        *("--remount-ro", "/", "--chdir", str(PROJECT)),
    ]


def _python() -> Iterator[Path]:
    """Yields the folders of the Python that runs the check, as far as they are not in /usr."""
    for prefix in dict.fromkeys((Path(project_python()).parents[1], Path(sys.base_prefix))):
        if not prefix.is_relative_to("/usr"):
            yield prefix


def _sources() -> Iterator[Path]:
    """Yields what a check needs of this project; a checkout has more: solutions, runs, `.git`."""
    if not IS_CHECKOUT:
        return  # a wheel is in the environment
    yield PROJECT / "Makefile"  # by which a checkout is known
    yield PROJECT / "native" / "build"
    for package in _PACKAGES.split():
        for each in sorted((PROJECT / package).iterdir()):
            is_source = each.suffix == ".py" or (each / "__init__.py").exists()
            if is_source and str(each.relative_to(PROJECT)) not in _UNSEEN:
                yield each
