"""Running other programs: argument lists, never shell lines; exit codes are checked, and errors quote stderr."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from flightpath.errors import FlightpathError, MissingCapability
from flightpath.project import SETUP_HINT
from flightpath.waiting import timeout_scale

POSTGRESQL = Path("/usr/lib/postgresql")
_THREADS_PER_PROCESSOR = 2
_WHY_KILLED = ": perhaps the kernel killed it for want of memory (see dmesg, and the memory limit of its control group)"
_Result = TypeVar("_Result")


class CommandFailed(FlightpathError):
    """A program returned another exit code than 0, or ran out of time; the message has its stderr."""


def run(
    argv: Sequence[str],
    *,
    timeout_s: float = 60,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> str:
    """Runs a program to its end and returns its stdout.

    Args:
        argv: program and arguments.
        timeout_s: the program is killed after this time, multiplied by `timeout_scale()`.
        stdin: text for its standard input; empty by default.
        env: variables to add to this process's environment.
        cwd: folder to run in.

    Raises:
        CommandFailed: it returned another exit code than 0, or ran out of time.
        MissingCapability: it is not installed.
    """
    try:
        done = subprocess.run(
            argv,
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=timeout_s * timeout_scale(),
            env={**os.environ, **env} if env else None,
            cwd=cwd,
        )
    except FileNotFoundError as error:
        raise _not_installed(argv[0]) from error
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"{' '.join(argv)}: no end after {timeout_s * timeout_scale():g} s") from error
    if done.returncode != 0:
        output = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise CommandFailed(f"{' '.join(argv)} {how_ended(done.returncode)}: {output}")
    return done.stdout


def at_once(calls: Iterable[Callable[[], _Result]]) -> list[_Result]:
    """Calls functions in several threads, because they mostly wait for programs; returns their results in order.

    The threads end with this call, so no function may start a program that ends with its thread (PR_SET_PDEATHSIG).

    Raises:
        Exception: the error of the first call, in their order, that failed; raised when all have ended.
    """
    with ThreadPoolExecutor((os.cpu_count() or 1) * _THREADS_PER_PROCESSOR) as pool:
        futures = [pool.submit(call) for call in calls]
    return [future.result() for future in futures]


def end(process: subprocess.Popen[Any], *, grace_s: float = 5) -> None:
    """Ends a child process and waits for it: SIGTERM, and SIGKILL if it still runs after `grace_s` seconds."""
    process.terminate()
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_and_close(process: subprocess.Popen[Any]) -> None:
    """Ends a child process as `end` does, and closes the pipes of its stdout and stderr."""
    end(process)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def how_ended(code: int) -> str:
    """How a program ended, by its exit code as `subprocess` gives it: `ended with exit code 1`, `ended by SIGTERM`.

    SIGKILL, which nobody sends without need, comes from a kernel that is out of memory: the words say so.
    """
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    return f"ended by {name}{_WHY_KILLED if -code == signal.SIGKILL else ''}"


def over_mptcp(enabled: bool) -> list[str]:
    """The words to put before a command to make its TCP sockets MPTCP sockets; none if `enabled` is False.

    Raises:
        MissingCapability: `mptcpize` is not installed.
    """
    return [require("mptcpize"), "run"] if enabled else []


def require(program: str) -> str:
    """The full path of a program; `sbin` folders are searched too.

    Raises:
        MissingCapability: it is not installed.
    """
    folders = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    path = shutil.which(program, path=folders)
    if path is None:
        raise _not_installed(program)
    return path


def postgresql_programs() -> Path:
    """The folder of PostgreSQL's server programs, as Debian installs them; of the newest version if there are several.

    Raises:
        MissingCapability: no server is installed.
    """
    folders = [folder for folder in POSTGRESQL.glob("*/bin") if os.access(folder / "initdb", os.X_OK)]
    if not folders:
        raise MissingCapability(f"PostgreSQL is not installed: there is no server in {POSTGRESQL}", SETUP_HINT)
    return max(folders, key=lambda folder: [int(part) for part in folder.parent.name.split(".") if part.isdigit()])


def _not_installed(program: str) -> MissingCapability:
    return MissingCapability(f"the program {program!r} is not installed", SETUP_HINT)
