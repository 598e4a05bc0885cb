"""Requests to a running native program over its control socket (native/common/control.h)."""

import json
import socket
from pathlib import Path
from typing import Any

from flightpath.errors import FlightpathError, MeasurementFailed

_REPLY_BYTES = 1 << 16
_TIMEOUT_S = 5


def ask(path: Path, request: str, *, program: str, subject: str) -> dict[str, Any]:
    """Sends a request to a program and returns its answer.

    Args:
        path: of the control socket.
        request: one line, see the program's `--help`.
        program: for the error that it does not answer, for example `the relay of link h1-eth0:s1-eth1`.
        subject: for its own errors, for example `link h1-eth0:s1-eth1`.

    Raises:
        MeasurementFailed: the program does not answer.
        FlightpathError: it answers with an error.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
        control.settimeout(_TIMEOUT_S)
        try:
            control.connect(str(path))
            control.send(request.encode())
            answer = json.loads(control.recv(_REPLY_BYTES))
        except (OSError, ValueError) as error:
            raise MeasurementFailed(f"{program} does not answer: {error}") from error
    if "error" in answer:
        raise FlightpathError(f"{subject}: {answer['error']}")
    return answer
