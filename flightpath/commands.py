"""Running other programs: argument lists only, exit codes checked, stderr kept in the error."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from flightpath.errors import FlightpathError, MissingCapability
from flightpath.timeout_scale import timeout_scale

SETUP_HINT = "run `make setup` in the project's folder"


_AT_ONCE_PER_PROCESSOR = 2
_Result = TypeVar("_Result")


class CommandFailed(FlightpathError):
    """A program ended with an exit code other than 0, or ran out of time; its stderr is in the message."""


def run(
    argv: Sequence[str],
    *,
    timeout_s: float = 60,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> str:
    """Runs a program to its end and returns what it printed on stdout.

    Args:
        argv: program and arguments; never a shell line.
        timeout_s: after so many seconds, more on a slow machine (`timeout_scale`), it is killed and the call fails.
        stdin: text for its standard input; none by default.
        env: variables added to this process's environment.
        cwd: folder to run in.

    Raises:
        CommandFailed: other exit code than 0, or time ran out.
        MissingCapability: there is no such program.
    """
    try:
        done = subprocess.run(
            argv,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=timeout_s * timeout_scale(),
            env={**os.environ, **env} if env else None,
            cwd=cwd,
        )
    except FileNotFoundError as error:
        raise MissingCapability(f"the program {argv[0]!r} is not installed", SETUP_HINT) from error
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"{' '.join(argv)}: no end after {timeout_s * timeout_scale():g} s") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise CommandFailed(f"{' '.join(argv)}: exit code {done.returncode}: {said}")
    return done.stdout


def at_once(calls: Iterable[Callable[[], _Result]]) -> list[_Result]:
    """Calls functions that mostly wait for programs, some at a time; returns what each returned, in their order.

    What they start must not end with its thread (PR_SET_PDEATHSIG): none of these lives on.

    Raises:
        Exception: that of the first in their order that failed, when all have ended.
    """
    with ThreadPoolExecutor((os.cpu_count() or 1) * _AT_ONCE_PER_PROCESSOR) as pool:
        running = [pool.submit(call) for call in calls]
    return [each.result() for each in running]


def end(process: subprocess.Popen[Any], *, grace_s: float = 5) -> None:
    """Ends a program of ours and waits for it: asked first (SIGTERM), killed after `grace_s` seconds."""
    process.terminate()
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_and_close(process: subprocess.Popen[Any]) -> None:
    """As `end`; closes its outputs as well, of which nobody reads any more."""
    end(process)
    process.stdout.close()
    process.stderr.close()


def over_mptcp(wanted: bool) -> list[str]:
    """What to put before a command, so that its TCP sockets become MPTCP's, if that is wanted.

    Raises:
        MissingCapability: `mptcpize` is not installed.
    """
    return [require("mptcpize"), "run"] if wanted else []


def require(program: str) -> str:
    """The full path of a program.

    Raises:
        MissingCapability: it is not installed.
    """
    sbin = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    found = shutil.which(program, path=sbin)
    if found is None:
        raise MissingCapability(f"the program {program!r} is not installed", SETUP_HINT)
    return found
