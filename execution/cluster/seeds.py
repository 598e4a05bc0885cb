"""A command with many seeds on a cluster: each seed is a task of Dask, and a guest on some worker's machine."""

import os
import platform
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

from distributed import KilledWorker
from pydantic import BaseModel

from execution.cluster import turns
from execution.cluster.machine import difference, own_identity, this_machine
from execution.cluster.task import DaskProgress
from execution.cluster.workers import SENT_PER_PLACE, Workers, await_worker, connected
from execution.guest_executors import UmlExecutor
from execution.guests.calling import called
from execution.guests.guest import POLL_S
from execution.guests.process import ProcessGuest
from execution.seeds import Outcome, SeededCommand, search
from experiments.plan import Plan
from flightpath.clock import Clock
from flightpath.errors import MeasurementFailed, MissingCapability

_PLACE = Plan("", {}, executor=UmlExecutor.name, clock=Clock.VIRTUAL)
"""Plan for which workers are chosen: those that measure cells in virtual time."""


class SeedRequest(BaseModel):
    """A request to run a command with a seed.

    Attributes:
        folder: current folder of the command, the same on all machines.
    """

    command: SeededCommand
    seed: int
    folder: Path


def search_on(address: str, key: Path, command: SeededCommand, seeds: range, kept: Path | None) -> list[Outcome]:
    """Runs a command with each seed on a cluster; arguments and result are otherwise those of `search`.

    Args:
        command: its files and its current folder have the same paths on each machine.
    """
    folder = Path.cwd()
    with connected(address, key) as client:
        workers = Workers()
        await_worker(client, address, workers, _PLACE)
        pool = client.get_executor(pure=False, **workers.where(_PLACE))

        def submit(seed: int) -> Future[Outcome]:
            request = SeedRequest(command=command, seed=seed, folder=folder).model_dump_json()
            return pool.submit(run_on_worker, request, own_identity())

        try:
            return search(seeds, submit, SENT_PER_PLACE * workers.places(_PLACE), kept)
        except KilledWorker as error:
            raise MeasurementFailed(f"its workers ended again and again: {error}") from error
        finally:
            pool.shutdown(wait=False)


def run_on_worker(request: str, expected: Mapping[str, str]) -> Outcome:
    """Runs a command with a seed, when it is this worker's turn; the task of Dask.

    Args:
        request: a `SeedRequest` as JSON.
        expected: version and commit of Flightpath that it is for.
    """
    if refused := difference(this_machine(), expected):  # it has joined after the others were asked
        raise MissingCapability(refused, "set up the same commit on each machine")
    wanted, check = SeedRequest.model_validate_json(request), DaskProgress("").check
    with turns.turn(alone=False, check=check), called(ProcessGuest, run_seed, wanted) as call:
        while (outcome := call.answer()) is None:
            check()
            time.sleep(POLL_S)
    return outcome


def run_seed(request: SeedRequest) -> Outcome:
    """Runs a command with a seed; in a process of its own, since it changes to the command's folder."""
    try:
        os.chdir(request.folder)
    except OSError as error:
        raise MissingCapability(
            f"{platform.node()} cannot run it in {request.folder}: {error.strerror}",
            "the command's files lie at the same paths on each machine of a cluster",
        ) from error
    return request.command.outcome(request.seed)
