"""Running native programs: their start, and requests over their control socket (native/common/control.h)."""

import contextlib
import json
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flightpath.commands import how_ended
from flightpath.errors import FlightpathError, MeasurementFailed

_REPLY_BYTES = 1 << 16
_TIMEOUT_S = 5
_EXIT_TIMEOUT_S = 0.5


def start(argv: Sequence[str]) -> subprocess.Popen[str]:
    """Starts a program, with pipes for its output, in a session of its own: a Ctrl-C must not reach it."""
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def read_line(process: subprocess.Popen[str]) -> str:
    """Reads the next line of a program's output; it is empty if the program has ended."""
    assert process.stdout is not None, "start() makes a pipe"
    return process.stdout.readline()


def wait_ready(process: subprocess.Popen[str], subject: str, *errors: type[FlightpathError]) -> None:
    """Waits until a program reports that it is ready; otherwise raises the error that has its exit code."""
    if read_line(process) != "ready\n":
        stderr = process.communicate()[1].strip()
        kind = next((it for it in errors if it.exit_code == process.returncode), FlightpathError)
        raise kind(f"{subject}: {stderr}")


def check(process: subprocess.Popen[str] | None, program: str) -> subprocess.Popen[str]:
    """Returns a program's process; raises MeasurementFailed, with the reason if it is known, unless it runs."""
    if process is None:
        raise MeasurementFailed(f"{program} does not run")
    if (code := process.poll()) is not None:
        raise MeasurementFailed(f"{program} {how_ended(code)}")
    return process


def ask(
    path: Path, request: str, *, process: subprocess.Popen[str] | None, program: str, subject: str
) -> dict[str, Any]:
    """Sends a request to a program and returns its answer.

    Args:
        request: one line, see the program's `--help`.
        program: its name in the error that it does not answer, for example `the relay of link h1-eth0:s1-eth1`.
        subject: its name in its own errors, for example `link h1-eth0:s1-eth1`.
    """
    running = check(process, program)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
        control.settimeout(_TIMEOUT_S)
        try:
            control.connect(str(path))
            control.send(request.encode())
            answer = json.loads(control.recv(_REPLY_BYTES))
        except (OSError, ValueError) as error:
            with contextlib.suppress(subprocess.TimeoutExpired):  # it may have ended just now
                running.wait(_EXIT_TIMEOUT_S)
            check(running, program)
            raise MeasurementFailed(f"{program} does not answer: {error}") from error
    if "error" in answer:
        raise FlightpathError(f"{subject}: {answer['error']}")
    return answer
