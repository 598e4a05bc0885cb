"""Hosts (machines, or network namespaces in their place), and programs in them."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from flightpath.commands import how_ended
from flightpath.errors import MeasurementFailed

_WATCH_S = 0.25


class Host(Protocol):
    """A host in whose network namespace programs can be started; a Mininet `Node` is one."""

    name: str
    """Name for messages, for example `h2`."""

    def popen(self, *args: Any, **kwargs: Any) -> subprocess.Popen[Any]:
        """Starts a program in the host, with the arguments of `subprocess.Popen`.

        The process must lead a session of its own (`start_new_session=True`, or Mininet's `mnexec -d`): a service finds
        its workers by their session, even after their parent has died.
        """
        ...


class CommandHost(Host, Protocol):
    """A host that also runs programs to their end; `topologies.hosts.multihomed.MultihomedHost` is one."""

    def run(self, argv: Sequence[str]) -> str:
        """Runs a program to its end and returns its stdout."""
        ...


def url_host(address: str) -> str:
    """Returns an address in the form that URLs need: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def endpoint(address: str, port: int) -> str:
    """Returns an address with its port: `10.0.0.1:80`, `[fd00::1]:80`."""
    return f"{url_host(address)}:{port}"


def succeeds_in(host: Host, argv: list[str], *, timeout_s: float = 30) -> bool:
    """Runs a program in a host, and returns whether its exit code is 0; discards its output."""
    null = subprocess.DEVNULL
    return host.popen(argv, stdin=null, stdout=null, stderr=null).wait(timeout_s) == 0


def run_in(host: Host, argv: list[str], *, timeout_s: float = 30) -> str:
    """Runs a program in a host to its end and returns its stdout.

    Raises:
        MeasurementFailed: its exit code is not 0, or it timed out.
    """
    command = f"{host.name}: {' '.join(argv)}"
    with running(host, argv) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise MeasurementFailed(f"{command}: timed out after {timeout_s:g} s") from error
    if process.returncode != 0:
        raise MeasurementFailed(f"{command} {how_ended(process.returncode)}: {stderr.strip()}")
    return stdout


def start_in(host: Host, argv: Sequence[str], folder: Path, *, stdout: Path, stderr: Path) -> subprocess.Popen[bytes]:
    """Starts a program in a host and in a folder, with files for what it prints; returns its process at once."""
    with stdout.open("wb") as out, stderr.open("wb") as errors:
        return host.popen(list(argv), stdin=subprocess.DEVNULL, stdout=out, stderr=errors, cwd=folder)


@contextlib.contextmanager
def running(host: Host, argv: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Runs a program in a host for the time of a block, with pipes for stdout and stderr; kills it at the end."""
    process = host.popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def await_end(
    process: subprocess.Popen[str], limit_s: float, watch: Callable[[], None], too_late: str, round_trip_s: float = 0.0
) -> tuple[str, str]:
    """Waits until a program has ended, and returns its stdout and stderr, both pipes.

    Calls `watch` a few times a second, or a hundred times per round trip of a long path; an exception from it ends the
    wait.

    Raises:
        MeasurementFailed: it takes longer than `limit_s`; with the message `too_late`.
    """
    pause_s = max(_WATCH_S, round_trip_s / 100)
    while True:
        try:
            return process.communicate(timeout=pause_s)
        except subprocess.TimeoutExpired as error:
            watch()
            limit_s -= pause_s
            if limit_s < 0:
                raise MeasurementFailed(too_late) from error
