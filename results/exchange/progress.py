"""Progress of what runs now: of the cell that a run measures, in the store, and of networks of `flightpath mn`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from results.records import PROGRESS_DOCUMENT, RunStatus, Series
from results.store.run_lock import RunLock

if TYPE_CHECKING:  # slow to load, and a guest reports progress without a store
    from results.store.store import Store

NETWORKS = ".networks"
"""Folder in that of the store; `topologies.mininet.live` writes into it."""

_MAX_BYTES = 1_000_000
"""Maximum size of a network's report."""


class Checked(BaseModel):
    """Base of data from outside: exactly these fields and types, and only finite numbers."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, revalidate_instances="always", frozen=True
    )


class LinkLoad(Checked):
    """Load of a link in both directions, in bit/s; a limit is None if there is none.

    `interfaces` are the two that it joins, for example `h1-eth0:s1-eth1`.
    """

    name: str
    interfaces: str
    rate_bps: tuple[float, float]
    limit_bps: tuple[float | None, float | None]


class CellProgress(Checked):
    """Progress of a cell.

    Attributes:
        cell: label.
        doing: current activity, in a few words.
        told_at: time of the report (ISO 8601).
        series: samples so far.
    """

    cell: str
    fraction: Annotated[float, Field(ge=0, le=1)]
    doing: str
    told_at: str
    series: dict[str, Series]
    links: tuple[LinkLoad, ...] = ()


def report_progress(store: "Store", run_id: str, progress: CellProgress) -> None:
    """Stores progress in place of an earlier report; the store removes it when the run ends.

    Raises:
        StoreFailed: the store cannot be written.
    """
    store.keep_document(run_id, PROGRESS_DOCUMENT, progress.model_dump_json())


def latest_progress(store: "Store", run_id: str, status: RunStatus) -> CellProgress | None:
    """Returns the last report of a run; None if it is not running, or has no readable report."""
    text = store.document(run_id, PROGRESS_DOCUMENT) if status is RunStatus.RUNNING else None
    try:
        return CellProgress.model_validate_json(text) if text else None
    except ValidationError:  # an imported run may hold anything
        return None


class LiveNetwork(Checked):
    """The networks of one command: their hosts, what the links carry, and the busiest links over the last minutes."""

    command: str
    told_at: str
    hosts: tuple[str, ...]
    links: tuple[LinkLoad, ...]
    series: dict[str, Series]


def live_networks(store: Path) -> list[LiveNetwork]:
    """Returns the networks that run now, the oldest first; those of killed processes are left out."""
    found = []
    for lock in sorted((store / NETWORKS).glob("*.lock")):
        report = lock.with_suffix(".json")
        try:
            if RunLock.is_held(lock.parent, lock.name) and report.stat().st_size <= _MAX_BYTES:
                found.append(LiveNetwork.model_validate_json(report.read_bytes()))
        except (OSError, ValidationError):  # it has just ended, or not yet begun
            continue
    return found
