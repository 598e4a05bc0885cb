"""Transfers by the QUIC implementations that `make quic` makes, for experiment files: a server, and a client.

    quic.py server NAME CONGESTION PATHS [IDLE]
    quic.py upload|download NAME CONGESTION BYTES PATHS [IDLE] -- ADDRESS...

The server writes its certificate into the programs' folder, where the client finds it. The client uses the first PATHS
of the addresses, and prints as JSON the bytes that arrived and the seconds until the last one; if the connection ended
before, there are none, and the seconds are those until it ended. IDLE, for aioquic: the seconds for which a connection
waits for a packet; a tenth of it is the round trip that it expects.
"""

import json
import runpy
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from own_python import run_in_own_python

run_in_own_python()

from services.quic.implementation import Implementation, Request, ServerSettings, source  # noqa: E402
from services.quic.implementations import IMPLEMENTATIONS  # noqa: E402
from services.running.certificates import write_certificate  # noqa: E402

_PORT = 4433
_RAN_AS_PROGRAM = "--as-program"


def main(words: list[str]) -> None:
    """Runs a server until it is ended, or one transfer."""
    if words[0] == _RAN_AS_PROGRAM:
        _patient_aioquic(float(words[1]), words[2:])
    elif words[0] == "server":
        _serve(*words[1:])
    else:
        end = words.index("--")
        _transfer(*words[:end], addresses=words[end + 1 :])


def _serve(name: str, congestion: str, paths: str, idle: str = "") -> None:
    settings = _settings(congestion, int(paths))
    write_certificate(settings.certificate, settings.key, "localhost")
    subprocess.run(_command(IMPLEMENTATIONS[name].server_command(settings), name, idle), check=True)


def _transfer(
    direction: str, name: str, congestion: str, size: str, paths: str, idle: str = "", *, addresses: list[str]
) -> None:
    implementation = IMPLEMENTATIONS[name]
    settings = _settings(congestion, int(paths))
    request = Request(addresses[: settings.paths], int(size), direction == "upload", settings)
    began = time.monotonic()
    command = _command(implementation.client_command(request), name, idle)
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    failed = {"bytes": 0, "seconds": time.monotonic() - began}
    print(json.dumps(failed if ended.returncode else _measured(implementation, request, ended.stdout)))


def _measured(implementation: Implementation, request: Request, stdout: str) -> dict[str, float]:
    report = implementation.report(request, stdout)
    return {
        "bytes": report.bytes,
        "seconds": report.seconds,
        "goodput": 8 * report.bytes / report.seconds,
        "handshake": report.facts["handshake_s"],
        "lost": report.lost_packets,
    }


def _settings(congestion: str, paths: int) -> ServerSettings:
    return ServerSettings("0.0.0.0", _PORT, Path.cwd(), congestion, paths)


def _command(command: list[str], name: str, idle: str) -> list[str]:
    """Returns a command of an implementation, so that it waits as long as IDLE says."""
    if not idle:
        return command
    assert name == "aioquic", f"{name} has no such option"
    program = command.index(str(source("aioquic_program.py")))
    python = [word for word in command[:program] if word != "-P"]  # it finds what is beside this file
    return [*python, __file__, _RAN_AS_PROGRAM, idle, *command[program + 1 :]]


def _patient_aioquic(idle_s: float, words: list[str]) -> None:
    """Runs aioquic's program with another configuration."""
    import aioquic.asyncio  # annotated with the class that is replaced here
    from aioquic.quic import configuration

    assert aioquic.asyncio.QuicConnectionProtocol
    patient = partial(configuration.QuicConfiguration, idle_timeout=idle_s, initial_rtt=idle_s / 10)
    configuration.QuicConfiguration = patient
    sys.argv[1:] = words
    runpy.run_path(str(source("aioquic_program.py")), run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
