"""Requests to a running native program over its control socket (native/common/control.h)."""

import json
import socket
from pathlib import Path
from typing import Any

from flightpath.errors import FlightpathError, MeasurementFailed

_REPLY_BYTES = 1 << 16
_ANSWERS_WITHIN_S = 5


def ask(path: Path, request: str, *, program: str, subject: str) -> dict[str, Any]:
    """What a program answers to a request.

    Args:
        path: its control socket.
        request: one line, as the program's `--help` tells.
        program: for the error that it does not answer, for example `the relay of link h1-eth0:s1-eth1`.
        subject: of what it refuses, for example `link h1-eth0:s1-eth1`.

    Raises:
        MeasurementFailed: it does not answer.
        FlightpathError: it refuses; with what it says.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
        control.settimeout(_ANSWERS_WITHIN_S)
        try:
            control.connect(str(path))
            control.send(request.encode())
            answer = json.loads(control.recv(_REPLY_BYTES))
        except (OSError, ValueError) as error:
            raise MeasurementFailed(f"{program} does not answer: {error}") from error
    if "error" in answer:
        raise FlightpathError(f"{subject}: {answer['error']}")
    return answer
