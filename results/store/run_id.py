"""Ids of runs. An id is the name of a run's folder, so nobody who writes into a shared database may choose any text."""

import re
from pathlib import Path

from results.store.sqlite import DATABASE_NAME

LATEST = "latest"
"""Alias for the id of the newest run that has cells; if none has any, of the newest. `latest~1`: the one before it."""

_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+ -]{0,199}")
_LATEST = re.compile(rf"{LATEST}(?:~(\d{{1,6}}))?")
_OWN_FILES = Path(DATABASE_NAME).stem


def runs_after(name: str) -> int | None:
    """Returns how many runs with cells are newer than the run that an alias means: 0 for `latest`, 1 for `latest~1`.

    None if it is no such alias.
    """
    alias = _LATEST.fullmatch(name)
    return int(alias[1] or 0) if alias else None


def part_of_run_id(name: str) -> str:
    """Returns a scenario's name as a part of an id: with `_` for what an id cannot have, and not too long."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:100]


def checked_run_id(run_id: str) -> str:
    """Returns an id if it is a single printable name, none of the store's own files (in any case) and not `latest`.

    Raises:
        ValueError: it is something else.
    """
    if not _RUN_ID.fullmatch(run_id) or run_id.casefold().startswith(_OWN_FILES) or run_id == LATEST:
        raise ValueError(f"{run_id!r} is no id of a run")
    return run_id
