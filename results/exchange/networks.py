"""Networks of `flightpath mn` that run now, as they report themselves in the store's folder."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from results.exchange.progress import Checked, LinkLoad
from results.records import Series
from results.store.run_lock import RunLock

FOLDER = ".networks"
"""Folder in that of the store; `topologies.mininet.live` writes into it."""

_MAX_BYTES = 1_000_000


class LiveNetwork(Checked):
    """The networks of one command: their hosts, what the links carry, and the busiest links over the last minutes."""

    command: str
    told_at: str
    hosts: tuple[str, ...]
    links: tuple[LinkLoad, ...]
    series: dict[str, Series]


def live_networks(store: Path) -> list[LiveNetwork]:
    """Returns the networks that run now, the oldest first; those of killed processes are left out."""
    return list(_readable(store / FOLDER))


def _readable(folder: Path) -> Iterator[LiveNetwork]:
    for lock in sorted(folder.glob("*.lock")):
        report = lock.with_suffix(".json")
        try:
            if RunLock.is_held(folder, lock.name) and report.stat().st_size <= _MAX_BYTES:
                yield LiveNetwork.model_validate_json(report.read_bytes())
        except (OSError, ValidationError):  # it has just ended, or not yet begun
            continue
