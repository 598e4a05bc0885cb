"""Where a service runs: without this contract services would need Mininet, and their tests a whole network."""

import subprocess
from typing import Any, Protocol

from flightpath.errors import MeasurementFailed


class ServiceHost(Protocol):
    """A machine, or a network namespace that plays one. A Mininet `Node` is such a host.

    Attributes:
        name: for messages, for example `h2`.
    """

    name: str

    def popen(self, *args: Any, **kwargs: Any) -> subprocess.Popen:
        """Starts a program in the host's network namespace, as `subprocess.Popen` would.

        The process must lead a session of its own (`mnexec -d` sees to it; elsewhere `start_new_session=True`):
        that is how a service finds its workers after their parent has died.
        """
        ...


def succeeds_in(host: ServiceHost, argv: list[str], *, timeout_s: float = 30) -> bool:
    """Whether a program ends in a host with exit code 0; what it prints goes nowhere."""
    nowhere = subprocess.DEVNULL
    return host.popen(argv, stdin=nowhere, stdout=nowhere, stderr=nowhere).wait(timeout_s) == 0


def run_in(host: ServiceHost, argv: list[str], *, timeout_s: float = 30) -> str:
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
