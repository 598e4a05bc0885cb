"""Progress of the cell that a run is measuring, kept in the store while the run goes on."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, ValidationError

from results.exchange.checked import Checked
from results.records import PROGRESS_DOCUMENT, RunStatus, Series

if TYPE_CHECKING:  # a guest tells progress and has no store, which is slow to load
    from results.store.store import Store


class LinkLoad(Checked):
    """What a link carries now, in bit/s, in both directions; the limits are None where there are none.

    `interfaces` are those that it joins, for example `h1-eth0:s1-eth1`.
    """

    name: str
    interfaces: str
    rate_bps: tuple[float, float]
    limit_bps: tuple[float | None, float | None]


class CellProgress(Checked):
    """How far the measurement of a cell, named by its label, has come at a time (ISO 8601).

    `doing` is what is going on, in a few words; `series` is what was sampled so far.
    """

    cell: str
    fraction: Annotated[float, Field(ge=0, le=1)]
    doing: str
    told_at: str
    series: dict[str, Series]
    links: tuple[LinkLoad, ...] = ()


def report_progress(store: "Store", run_id: str, progress: CellProgress) -> None:
    """Stores the progress in place of an earlier report; the store removes it when the run ends.

    Raises:
        StoreFailed: the store cannot be written.
    """
    store.keep_document(run_id, PROGRESS_DOCUMENT, progress.model_dump_json())


def latest_progress(store: "Store", run_id: str, status: RunStatus) -> CellProgress | None:
    """Returns what a run last reported; None if it is not running, or has reported nothing that can be read."""
    text = store.document(run_id, PROGRESS_DOCUMENT) if status is RunStatus.RUNNING else None
    try:
        return CellProgress.model_validate_json(text) if text else None
    except ValidationError:  # it may have been imported from anywhere
        return None
