"""Lists of runs, page by page, with the actual status of each."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from results.records import RunRecord, RunStatus, Verdict
from results.store.filters import RunFilter
from results.store.run_lock import RunLock
from results.store.store import Store

_MAX_IDS_IN_A_QUERY = 1000


@dataclass(frozen=True)
class RunList:
    """Runs of one page, oldest first, each with its cells counted by verdict; `total` counts all matching runs."""

    runs: Sequence[tuple[RunRecord, Mapping[Verdict, int]]]
    total: int


def find_runs(store: Store, wanted: RunFilter, last: int | None = None, page: int = 1) -> RunList:
    """Returns all runs that match a filter, or a page of `last` runs.

    Page 1 has the newest; a page beyond the last one is the last one.
    """
    query = wanted.query
    matching = None  # decided by the database alone
    if wanted.parameters:  # decided by the plans, which are read first
        matching = [run_id for run_id, plan in store.plans(query) if wanted.matches(plan)]
    total = store.count(query) if matching is None else len(matching)
    skip = 0 if last is None else last * (min(page, pages(total, last)) - 1)
    if matching is None:
        records = store.find(replace(query, last=last, skip=skip))
    else:
        shown = frozenset(matching[max(0, total - skip - (last or total)) : total - skip])
        query = replace(query, run_ids=shown) if len(shown) <= _MAX_IDS_IN_A_QUERY else query
        records = [record for record in store.find(query) if record.run_id in shown]
    run_ids = [record.run_id for record in records]
    counts = store.cell_counts(run_ids if len(run_ids) <= _MAX_IDS_IN_A_QUERY else None)
    return RunList([(with_actual_status(store, record), counts.get(record.run_id, {})) for record in records], total)


def pages(runs: int, per_page: int) -> int:
    return max(1, -(-runs // per_page))


def worst(counts: Mapping[Verdict, int]) -> Verdict | None:
    """Returns the verdict of a run's worst cell; None without cells."""
    return Verdict.worst(list(counts)) if counts else None


def with_actual_status(store: Store, record: RunRecord) -> RunRecord:
    """Returns a run, as `interrupted` if it is recorded as running and its process has ended.

    The processes of other machines, which share a store on a server, are unknown.
    """
    here = record.environment.get("host") == platform.node()
    if record.status is not RunStatus.RUNNING or not here or RunLock.is_held(store.folder / record.run_id):
        return record
    return replace(record, status=RunStatus.INTERRUPTED)
