"""The confinement of a submission (bubblewrap): no network, none of this machine's files but programs, bounded memory.

All of a student's code runs in a virtual-time kernel, and that runs in here. So hostile code would have to leave both.
"""

import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from execution.uml import kernel
from flightpath.commands import require
from flightpath.errors import MeasurementFailed, MissingCapability
from flightpath.launcher import python_module
from flightpath.project import PROJECT

SUBMISSION = Path("/submission")
MAX_OUTPUT = 1 << 20
"""Maximum output of a confined command, in bytes; the rest is discarded."""

_TIME_LIMIT_S = 600.0
"""Time limit on this machine's clock; an endless loop is stopped after a minute of processor time."""

_MEMORY_BYTES, _FILES_BYTES = 1536 << 20, 256 << 20
_KERNELS = Path("/kernels")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SETTINGS = (
    "alternatives ethertypes fonts group iproute2 ld.so.cache ld.so.conf ld.so.conf.d localtime mime.types nginx "
    "nsswitch.conf openvswitch passwd protocols services ssl"
)
"""Files in /etc that programs need; none holds passwords or keys."""


def require_it() -> None:
    """Checks that this machine can confine submissions.

    Raises:
        MissingCapability: bubblewrap is not installed, or may not make namespaces; or there is no virtual-time kernel.
    """
    done = subprocess.run([*_bubblewrap(PROJECT / "labs"), "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingCapability(
            f"submissions cannot be confined here: {done.stderr.strip() or 'bubblewrap fails'}",
            "run it as root, or let users make namespaces: sysctl -w user.max_user_namespaces=10000",
        )


def run(argv: Sequence[str], submission: Path) -> tuple[int, bytes]:
    """Runs a Python module with a submission in `SUBMISSION`; returns its exit code and output.

    Raises:
        MissingCapability: see `require_it`.
        MeasurementFailed: it did not end in time.
    """
    command = [*_bubblewrap(submission), *python_module(*argv)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None  # a pipe, as requested
    chunks: list[bytes] = []
    reader = threading.Thread(target=_read, args=(process.stdout, chunks))
    reader.start()
    try:
        code = process.wait(_TIME_LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise MeasurementFailed(f"the check took more than {_TIME_LIMIT_S:g} s") from error
    finally:
        process.kill()  # and with it all in its PID namespace
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
    kernels = kernel.find().image.parents[2]
    settings = [Path("/etc") / name for name in _SETTINGS.split()]
    java = sorted(Path("/etc").glob("java-*"))
    return [
        *(require("bwrap"), "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session", "--hostname", "lab", "--clearenv", "--setenv", "PATH", _PATH),
        *("--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8", "--setenv", "FLIGHTPATH_CACHE", str(_KERNELS)),
        *("--ro-bind", "/usr", "/usr"),
        *(word for name in ("bin", "sbin", "lib", "lib64") for word in ("--symlink", f"usr/{name}", f"/{name}")),
        *("--perms", "0755", "--dir", "/etc"),  # bwrap would make it for root alone, and sshd reads there
        *(word for file in [*settings, *java] if file.exists() for word in ("--ro-bind", str(file), str(file))),
        *("--proc", "/proc", "--dev", "/dev", "--size", str(_MEMORY_BYTES), "--tmpfs", "/dev/shm"),
        *(word for name in ("/tmp", "/run", "/var") for word in ("--size", str(_FILES_BYTES), "--tmpfs", name)),
        *(word for name in ("/root", "/home", "/mnt", "/sys") for word in ("--dir", name)),
        *("--ro-bind", str(PROJECT), str(PROJECT), "--tmpfs", str(PROJECT / "labs" / "solutions")),
        *("--ro-bind", str(kernels), str(_KERNELS), "--ro-bind", str(submission), str(SUBMISSION)),
        *("--chdir", str(PROJECT)),
    ]
