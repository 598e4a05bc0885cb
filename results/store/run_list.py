"""Lists of runs, page by page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from results.records import RunRecord, Verdict
from results.store.filters import RunFilter
from results.store.liveness import with_actual_status
from results.store.store import Store

_MOST_IDS_IN_A_QUERY = 1000


@dataclass(frozen=True)
class RunList:
    """Some of all runs that match a filter, oldest first, each with the number of its cells by verdict."""

    runs: Sequence[tuple[RunRecord, Mapping[Verdict, int]]]
    total: int


def find_runs(store: Store, wanted: RunFilter, last: int | None = None, page: int = 1) -> RunList:
    """Returns all runs that match a filter, or a page of `last` runs.

    The first page, 1, has the newest; a page after the last one is the last one.
    """
    query = wanted.query
    matching = None  # by the database alone
    if wanted.parameters:  # these need the plans: read only those first
        matching = [run_id for run_id, plan in store.plans(query) if wanted.matches(plan)]
    total = store.count(query) if matching is None else len(matching)
    skip = 0 if last is None else last * (min(page, pages(total, last)) - 1)
    if matching is None:
        records = store.find(replace(query, last=last, skip=skip))
    else:
        shown = frozenset(matching[max(0, total - skip - (last or total)) : total - skip])
        query = replace(query, run_ids=shown) if len(shown) <= _MOST_IDS_IN_A_QUERY else query
        records = [record for record in store.find(query) if record.run_id in shown]
    run_ids = [record.run_id for record in records]
    counts = store.cell_counts(run_ids if len(run_ids) <= _MOST_IDS_IN_A_QUERY else None)
    return RunList([(with_actual_status(store, record), counts.get(record.run_id, {})) for record in records], total)


def pages(runs: int, per_page: int) -> int:
    """Returns how many pages so many runs take; an empty list takes one."""
    return max(1, -(-runs // per_page))


def worst(counts: Mapping[Verdict, int]) -> Verdict | None:
    """Returns the verdict on a run, which is that of its worst cell; None if it has no cells."""
    return Verdict.worst(list(counts)) if counts else None
