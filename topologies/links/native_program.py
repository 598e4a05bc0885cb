"""Native programs that run: their start, and requests over their control socket (native/common/control.h)."""

import contextlib
import json
import socket
import subprocess
from pathlib import Path
from typing import Any

from flightpath.commands import how_ended
from flightpath.errors import FlightpathError, MeasurementFailed

START = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
    "text": True,
    "start_new_session": True,  # so that a Ctrl-C in the terminal does not reach it
}
"""The arguments with which `subprocess.Popen` starts one."""

_REPLY_BYTES = 1 << 16
_TIMEOUT_S = 5
_ENDS_WITHIN_S = 0.5


def wait_ready(process: subprocess.Popen[str], subject: str, *errors: type[FlightpathError]) -> None:
    """Waits until a program says that it is ready; else raises that one of the errors that has its exit code."""
    if process.stdout.readline() != "ready\n":
        stderr = process.communicate()[1].strip()
        kind = next((it for it in errors if it.exit_code == process.returncode), FlightpathError)
        raise kind(f"{subject}: {stderr}")


def check(process: subprocess.Popen[str] | None, program: str) -> None:
    """Raises MeasurementFailed, with the reason as far as it is known, if a program does not run (any more)."""
    if process is None:
        raise MeasurementFailed(f"{program} does not run")
    if (code := process.poll()) is not None:
        raise MeasurementFailed(f"{program} {how_ended(code)}")


def ask(
    path: Path, request: str, *, process: subprocess.Popen[str] | None, program: str, subject: str
) -> dict[str, Any]:
    """Sends a request to a program and returns its answer.

    Args:
        request: one line, see the program's `--help`.
        process: the program's.
        program: for the error that it does not answer, for example `the relay of link h1-eth0:s1-eth1`.
        subject: for its own errors, for example `link h1-eth0:s1-eth1`.

    Raises:
        MeasurementFailed: the program does not run, or does not answer.
        FlightpathError: it answers with an error.
    """
    check(process, program)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
        control.settimeout(_TIMEOUT_S)
        try:
            control.connect(str(path))
            control.send(request.encode())
            answer = json.loads(control.recv(_REPLY_BYTES))
        except (OSError, ValueError) as error:
            with contextlib.suppress(subprocess.TimeoutExpired):  # it may have ended just now
                process.wait(_ENDS_WITHIN_S)
            check(process, program)
            raise MeasurementFailed(f"{program} does not answer: {error}") from error
    if "error" in answer:
        raise FlightpathError(f"{subject}: {answer['error']}")
    return answer
