"""Running programs: argument lists, never shell lines; checked exit codes; errors that quote stderr."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from flightpath.errors import FlightpathError, MissingCapability
from flightpath.pools import ThreadPool
from flightpath.project import SETUP_HINT
from flightpath.waiting import timeout_scale

POSTGRESQL = Path("/usr/lib/postgresql")
_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_THREADS_PER_PROCESSOR = 2
_WHY_KILLED = ": perhaps the kernel ran out of memory (see dmesg, and the memory limit of its control group)"
_Result = TypeVar("_Result")


class CommandFailed(FlightpathError):
    """A program failed or timed out; the message has its stderr."""


def run(
    argv: Sequence[str],
    *,
    timeout_s: float = 60,
    stdin: str | Path = "",
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> str:
    """Runs a program to its end and returns its stdout.

    Args:
        timeout_s: the program is killed after this time, multiplied by `timeout_scale()`.
        stdin: text for its standard input, or the file that is its standard input.
        env: variables to add to this process's environment.

    Raises:
        CommandFailed: its exit code is not 0, or it timed out.
        MissingCapability: it is not installed.
    """
    try:
        with contextlib.nullcontext() if isinstance(stdin, str) else stdin.open("rb") as file:
            done = subprocess.run(
                argv,
                **({"input": stdin} if file is None else {"stdin": file}),
                capture_output=True,
                text=True,
                timeout=timeout_s * timeout_scale(),
                env={**os.environ, **env} if env else None,
                cwd=cwd,
            )
    except FileNotFoundError as error:
        raise _not_installed(argv[0]) from error
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"{' '.join(argv)}: timed out after {timeout_s * timeout_scale():g} s") from error
    if done.returncode != 0:
        output = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise CommandFailed(f"{' '.join(argv)} {how_ended(done.returncode)}: {output}")
    return done.stdout


def at_once(calls: Iterable[Callable[[], _Result]]) -> list[_Result]:
    """Calls functions in parallel, in threads, and returns their results in order.

    The threads end with this call, so no function may start a program that ends with its thread (PR_SET_PDEATHSIG).

    Raises:
        Exception: the error of the first call that failed, in their order; raised when all have ended.
    """
    with ThreadPool((os.cpu_count() or 1) * _THREADS_PER_PROCESSOR) as pool:
        futures = [pool.submit(call) for call in calls]
    return [future.result() for future in futures]


def end(process: subprocess.Popen[Any], *, grace_s: float = 5) -> None:
    """Ends a child process, if it runs, with SIGTERM, after `grace_s` seconds with SIGKILL, and waits for it."""
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
    """Describes a return code of `subprocess`: `ended with exit code 1`, `ended by SIGTERM`.

    SIGKILL most likely comes from a kernel that is out of memory, so the text mentions that.
    """
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    return f"ended by {name}{_WHY_KILLED if -code == signal.SIGKILL else ''}"


def over_mptcp(enabled: bool) -> list[str]:
    """Returns the prefix of a command that turns its TCP sockets into MPTCP sockets; empty if not `enabled`.

    Raises:
        MissingCapability: `mptcpize` is not installed.
    """
    return [require("mptcpize"), "run"] if enabled else []


def require(program: str) -> str:
    """Returns the full path of a program; searches `search_path()`.

    Raises:
        MissingCapability: it is not installed.
    """
    path = shutil.which(program, path=search_path())
    if path is None:
        raise _not_installed(program)
    return path


def search_path() -> str:
    """Returns PATH with the `sbin` folders, which it lacks for Debian's users, and without the current folder."""
    folders = [it for it in os.environ.get("PATH", os.defpath).split(os.pathsep) if it not in ("", os.curdir)]
    return os.pathsep.join([*folders, *(folder for folder in _SBIN if folder not in folders)])


def postgresql_programs() -> Path:
    """Returns the folder of PostgreSQL's server programs in Debian, of the newest version installed.

    Raises:
        MissingCapability: no server is installed.
    """
    folders = [folder for folder in POSTGRESQL.glob("*/bin") if os.access(folder / "initdb", os.X_OK)]
    if not folders:
        raise MissingCapability(f"PostgreSQL is not installed: there is no server in {POSTGRESQL}", SETUP_HINT)
    return max(folders, key=lambda folder: [int(part) for part in folder.parent.name.split(".") if part.isdigit()])


def _not_installed(program: str) -> MissingCapability:
    return MissingCapability(f"the program {program!r} is not installed", SETUP_HINT)
