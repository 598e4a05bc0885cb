"""What a cell says while it is measured: without it a run would be seen only when its next cell is done."""

from typing import Annotated

from pydantic import Field, ValidationError

from results.exchange.exchange import ExportedSeries, Part
from results.records import RunStatus, Series
from results.store.store import LIVE, Store


class Live(Part):
    """How far a cell has come.

    Attributes:
        cell: its label.
        fraction, doing: how much of it is done, and what is going on in a few words.
        told_at: ISO 8601.
        series: what was sampled so far.
    """

    cell: str
    fraction: Annotated[float, Field(ge=0, le=1)]
    doing: str
    told_at: str
    series: dict[str, ExportedSeries]

    def courses(self) -> list[tuple[str, Series]]:
        """The series by name."""
        return [(name, Series(one.unit, tuple(one.times_s), tuple(one.values))) for name, one in self.series.items()]


def tell(store: Store, run_id: str, live: Live) -> None:
    """Keeps it in place of what was told before; gone when the run has ended.

    Raises:
        StoreFailed: the store cannot be written.
    """
    store.keep_document(run_id, LIVE, live.model_dump_json())


def told(store: Store, run_id: str, status: RunStatus) -> Live | None:
    """What a run last told of itself; None if it has ended, said nothing, or nothing that can be understood."""
    text = store.document(run_id, LIVE) if status is RunStatus.RUNNING else None
    try:
        return Live.model_validate_json(text) if text else None
    except ValidationError:  # anybody's file may have been imported
        return None
