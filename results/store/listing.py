"""Lists of runs: without this a page of a hundred would read all that a class has ever measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from results.records import RunRecord, Verdict
from results.store.filters import RunFilter
from results.store.store import Store

_ASKED_BY_ID = 1000
"""As many ids may stand in a query; SQLite takes some more."""


@dataclass(frozen=True)
class Listed:
    """Some of the runs that a filter leaves.

    Attributes:
        runs: oldest first, each with how many cells it has of each verdict.
        found: how many the filter leaves in all.
    """

    runs: Sequence[tuple[RunRecord, Mapping[Verdict, int]]]
    found: int


def listed(store: Store, wanted: RunFilter, last: int | None = None, page: int = 1) -> Listed:
    """The runs that a filter leaves.

    Args:
        store: where they are.
        wanted: the filter.
        last: only so many, the newest of them.
        page: from 2 on, not the newest so many but those before, and so on; the last page if there are fewer.
    """
    choice = wanted.choice()
    # What a query cannot ask is asked of each run's plan, before anything else of it is read.
    kept = None if wanted.is_for_a_query else [run for run, *asked in store.plans(choice) if wanted.keeps(*asked)]
    found = store.count(choice) if kept is None else len(kept)
    skip = 0 if last is None else last * (min(page, pages(found, last)) - 1)
    if kept is None:
        records = store.choose(replace(choice, last=last, skip=skip))
    else:
        shown = frozenset(kept[max(0, found - skip - (last or found)) : found - skip])
        few = replace(choice, run_ids=shown) if len(shown) <= _ASKED_BY_ID else choice
        records = [record for record in store.choose(few) if record.run_id in shown]
    counts = store.cell_counts([record.run_id for record in records] if len(records) <= _ASKED_BY_ID else None)
    return Listed([(record, counts.get(record.run_id, {})) for record in records], found)


def pages(found: int, per_page: int) -> int:
    """How many pages so many runs take, 1 for none."""
    return max(1, -(-found // per_page))


def worst(counts: Mapping[Verdict, int]) -> Verdict | None:
    """The verdict on a run: that of its worst cell; None if it has none."""
    return Verdict.worst(list(counts)) if counts else None
