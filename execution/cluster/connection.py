"""The way to a cluster: its scheduler, and the first of its workers that can do what is wanted."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed import Client

from execution.cluster.key import security
from execution.cluster.workers import Workers
from experiments.plan import Plan
from flightpath.errors import MissingCapability

_CONNECT_S, _WORKER_S, _POLL_S = 15, 60, 0.2


@contextmanager
def connected(address: str, key: Path) -> Iterator[Client]:
    """Provides a client of a scheduler.

    Raises:
        MissingCapability: none answers there.
    """
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
    """Waits for a worker that can measure a plan, for a minute.

    Raises:
        MissingCapability: there is none.
    """
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
