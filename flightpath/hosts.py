"""Hosts, and programs that run in them. A host is a network namespace that plays a machine, or a machine itself."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from flightpath.errors import MeasurementFailed

_WATCH_S = 0.25


class Host(Protocol):
    """A host in whose network namespace programs can be started; a Mininet `Node` is one.

    Attributes:
        name: for messages, for example `h2`.
    """

    name: str

    def popen(self, *args: Any, **kwargs: Any) -> subprocess.Popen:
        """Starts a program there, as `subprocess.Popen` would.

        The process must lead a session of its own (`mnexec -d` sees to it; elsewhere `start_new_session=True`):
        that is how a service finds its workers after their parent has died.
        """
        ...


class CommandHost(Host, Protocol):
    """A host that also waits for programs; a `topologies.hosts.multihomed.MultihomedHost` is one."""

    def run(self, argv: Sequence[str]) -> str:
        """Runs a program to its end and returns its stdout."""
        ...


def succeeds_in(host: Host, argv: list[str], *, timeout_s: float = 30) -> bool:
    """Whether a program ends in a host with exit code 0; what it prints goes nowhere."""
    nowhere = subprocess.DEVNULL
    return host.popen(argv, stdin=nowhere, stdout=nowhere, stderr=nowhere).wait(timeout_s) == 0


def run_in(host: Host, argv: list[str], *, timeout_s: float = 30) -> str:
    """Runs a program in a host to its end and returns what it printed on stdout.

    Raises:
        MeasurementFailed: other exit code than 0, or time ran out.
    """
    process = host.popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )
    try:
        printed, said = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise MeasurementFailed(f"{host.name}: {' '.join(argv)}: no end after {timeout_s:g} s") from error
    if process.returncode != 0:
        raise MeasurementFailed(f"{host.name}: {' '.join(argv)}: exit code {process.returncode}: {said.strip()}")
    return printed


@contextlib.contextmanager
def running(host: Host, argv: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """A program in a host, both of whose outputs are kept; it ends with the block at the latest."""
    process = host.popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def await_end(
    process: subprocess.Popen[str], limit_s: float, watch: Callable[[], None], too_late: str
) -> tuple[str, str]:
    """Returns when a program has ended, with what it printed on stdout and stderr.

    Args:
        process: with both outputs kept.
        limit_s: how long it may take.
        watch: called a few times a second; what it raises ends the waiting.
        too_late: what is wrong if it takes longer.

    Raises:
        MeasurementFailed: it takes longer.
    """
    left_s = limit_s
    while True:
        try:
            return process.communicate(timeout=_WATCH_S)
        except subprocess.TimeoutExpired as error:
            watch()
            left_s -= _WATCH_S
            if left_s < 0:
                raise MeasurementFailed(too_late) from error
