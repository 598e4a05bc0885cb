"""A scheduler, its workers, what they are, and which of them may measure a cell."""

import math
import socket
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from distributed import Client

from execution.cluster import task
from execution.cluster.key import security
from execution.cluster.machine import difference, own_identity
from execution.executor import LocalExecutor
from experiments.plan import Plan
from flightpath.clock import Clock
from flightpath.errors import MissingCapability

_CONNECT_S, _WORKER_S, _POLL_S = 15, 60, 0.2
_LOOK_S, _NEAR_S = 1.0, 1.0

SENT_PER_PLACE = 2
"""Cells or seeds sent per place: a worker has its next one already, and few are sent again when one ends."""


@dataclass
class Workers:
    """The workers that were ever connected, and those that are now.

    Attributes:
        seen: facts about the machine of each worker, by the worker's address.
        threads: number of parallel cells of each connected worker.
        are_near: results can be fetched from them, which spares the scheduler the work.
        unfit: machines that lack something that this run needs.
    """

    seen: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    threads: dict[str, int] = field(default_factory=dict)
    are_near: bool = True
    unfit: set[str] = field(default_factory=set)
    _looked_s: float = -math.inf

    def look(self, client: Client) -> None:
        """Looks for connected workers, at most once a second, and asks new ones about their machines."""
        if time.monotonic() < self._looked_s + _LOOK_S:
            return
        self.threads, self._looked_s = client.nthreads(), time.monotonic()
        if new := [address for address in self.threads if address not in self.seen]:
            self.are_near = self.are_near and all(_answers(address) for address in new)
            for address, about in client.run(task.about, workers=new, on_error="ignore").items():
                self.seen[address] = about
                if why := difference(about, own_identity()):
                    _say_unused(why)

    def leave_out(self, about: Mapping[str, Any], why: str) -> None:
        """Gives a machine no more cells of this run, because it cannot measure them."""
        if about["machine"] not in self.unfit:
            self.unfit.add(about["machine"])
            _say_unused(f"{about['host']}: {why}")

    def usable(self, plan: Plan) -> list[str]:
        """Returns the addresses of those that have this version and commit of Flightpath, and can measure the plan."""
        return [address for address in self.threads if address in self.seen and self._can(self.seen[address], plan)]

    def places(self, plan: Plan) -> int:
        """Returns how many cells they take at once: on the real clock, each machine one."""
        usable = self.usable(plan)
        if _is_real(plan):
            return len({self._machine(address) for address in usable})
        return sum(self.threads[address] for address in usable)

    def machines(self) -> list[Mapping[str, Any]]:
        """Returns the facts about each machine."""
        return sorted({about["machine"]: about for about in self.seen.values()}.values(), key=lambda each: each["host"])

    def has_other(self, tried: Collection[str], plan: Plan) -> bool:
        """Returns whether there is a machine besides those that have tried a cell."""
        return any(self._machine(address) not in tried for address in self.usable(plan))

    def where(self, plan: Plan, turn: int | None = None, tried: Collection[str] = ()) -> dict[str, Any]:
        """Returns which workers a cell may go to, and what it takes of one, as Dask's `submit` understands it.

        On the real clock the repetitions of a point go round the machines, and the points begin at different ones, so
        that a slow machine does not become a point's fault. Only if these workers are gone may others take it.
        """
        usable = self.usable(plan)
        machines = sorted({self._machine(address) for address in usable} - set(tried))
        if turn is not None and machines:
            machines = [machines[turn % len(machines)]]
        chosen = [address for address in usable if self._machine(address) in machines] or usable
        # Restrictions cost the scheduler time, for each worker and each cell.
        of_workers = {} if len(chosen) == len(self.threads) else {"workers": chosen, "allow_other_workers": True}
        return of_workers | ({"resources": {"exclusive": 1}} if _is_real(plan) else {})

    def _can(self, about: Mapping[str, Any], plan: Plan) -> bool:
        if difference(about, own_identity()) or about["machine"] in self.unfit:
            return False
        clock = Clock.REAL if plan.executor == LocalExecutor.name else Clock.VIRTUAL  # the virtual-time kernel has both
        return clock in about["clocks"]

    def _machine(self, address: str) -> str:
        return self.seen[address]["machine"]


@contextmanager
def connected(address: str, key: Path) -> Iterator[Client]:
    """Provides a client of a scheduler."""
    try:
        client = Client(address, security=security(key), timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise MissingCapability(
            f"no scheduler answers at {address}: {error}",
            "start one with `flightpath cluster scheduler`, with the same key",
        ) from error
    with client:
        yield client


def await_worker(client: Client, address: str, workers: Workers, plan: Plan) -> None:
    """Waits for a worker that can measure a plan, for a minute."""
    deadline = time.monotonic() + _WORKER_S
    while True:
        workers.look(client)
        if workers.usable(plan):
            return
        if time.monotonic() > deadline:
            raise MissingCapability(
                f"the scheduler at {address} has no worker that can measure",
                "start some with `flightpath worker`, with this version and commit of Flightpath; each says what "
                "it cannot measure",
            )
        time.sleep(_POLL_S)


def turns(plan: Plan) -> list[int | None]:
    """Returns the turn of each cell of a plan among the machines; None in virtual time, where any machine will do."""
    cells = plan.cells()
    if not _is_real(plan):
        return [None] * len(cells)
    points: dict[str, int] = {}
    return [points.setdefault(repr(sorted(cell.parameters.items())), len(points)) + cell.repetition for cell in cells]


def _is_real(plan: Plan) -> bool:
    return plan.clock is Clock.REAL


def _answers(address: str) -> bool:
    """Returns whether this machine reaches a worker."""
    at = urlsplit(address)
    try:
        socket.create_connection((at.hostname, at.port), _NEAR_S).close()
    except OSError:
        return False
    return True


def _say_unused(why: str) -> None:
    print(f"a worker is not used: {why}", file=sys.stderr)
