"""Students' programs in a host: as a user without rights, bounded in time, processes, memory and output."""

import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flightpath.errors import MeasurementFailed
from flightpath.hosts import Host

_USER = "65533"
_MOST_OUTPUT = 1 << 18
_PROCESSES, _MEMORY_BYTES, _FILE_BYTES = 64, 256 << 20, 16 << 20
_SHOWN = 400


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code, and what it printed (at most 256 kB)."""

    code: int
    output: str


def run(
    host: Host, argv: Sequence[str], folder: Path, *, seconds: float, name: str, may_configure: bool = False
) -> Ended:
    """Runs a student's program to its end.

    Args:
        folder: in which it runs; it can read it, and write nowhere but in a /tmp of its own.
        seconds: that it may take, by the clock of the experiment.
        name: for messages.
        may_configure: it may change the host's network (`ip`, `tc`).

    Raises:
        MeasurementFailed: it did not end in time, or ended with an error; the message has the end of what it printed.
    """
    process = host.popen(
        confined(argv, may_configure=may_configure),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"},
    )
    chunks: list[bytes] = []
    reader = threading.Thread(target=_read, args=(process, chunks), daemon=True)
    reader.start()
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired as error:
        raise MeasurementFailed(f"{name} did not end within {seconds:g} s") from error
    finally:
        process.kill()
        process.wait()
        reader.join(1)
    output = b"".join(chunks).decode(errors="replace")
    if code:
        raise MeasurementFailed(
            f"{name} ended with exit code {code}: {output.strip()[-_SHOWN:] or 'it printed nothing'}"
        )
    return Ended(code, output)


def confined(argv: Sequence[str], *, may_configure: bool = False) -> list[str]:
    """A command as a user who owns nothing; if it ends, all that it has started ends with it."""
    limits = [f"--nproc={_PROCESSES}", f"--data={_MEMORY_BYTES}", f"--fsize={_FILE_BYTES}", "--core=0"]
    rights = ["--inh-caps=+net_admin", "--ambient-caps=+net_admin"] if may_configure else []
    user = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", "--no-new-privs", *rights]
    apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return [*apart, "prlimit", *limits, *user, "--", *argv]


def _read(process: subprocess.Popen[bytes], chunks: list[bytes]) -> None:
    size = 0
    with process.stdout as stream:
        while chunk := stream.read1(1 << 14):
            if size < _MOST_OUTPUT:
                chunks.append(chunk)
                size += len(chunk)
