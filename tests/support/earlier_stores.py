"""Stores as earlier versions of Flightpath wrote them."""

import gzip
from pathlib import Path

from flightpath.project import PROJECT
from results.records import Verdict
from results.store.database import DATABASE_NAME

DATA = PROJECT / "tests" / "data"
STORED = {1: ("mptcp_load", 3, [Verdict.FAITHFUL, Verdict.UNUSABLE]), 2: ("mptcp_load", 4, [Verdict.FAITHFUL])}
"""By version: scenario, cells, and verdicts of the one run that a store of it holds (2 holds a real measurement)."""


def earlier(version: int, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    database = folder / DATABASE_NAME
    database.write_bytes(gzip.decompress((DATA / f"store_v{version}.sqlite.gz").read_bytes()))
    return database
