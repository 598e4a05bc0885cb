"""Tables: settings of a link over time, a CSV file that stands for as many events.

    time,bandwidth,delay,loss
    0s,80Mbit,22ms,0%
    15s,60Mbit,31ms,0.5%
    30s,end

The first line names the columns: the time, and settings of links. An empty field leaves its setting as it is. The
last line may say how long the table lasts, which a repetition needs.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from flightpath.errors import UsageError
from flightpath.units import parse_duration, parse_probability
from topologies.links.spec import link_fields
from topologies.links.texts import mininet_units

_MAX_CHANGES = 2000
"""Changes that a link can keep for later: half of the relay's `SCHEDULED_MAX`, as each is one for either direction."""

_FORM = "a first line as time,bandwidth,delay,loss, then lines as 15s,60Mbit,31ms,0.5%; at the end perhaps 30s,end"


@dataclass(frozen=True)
class Table:
    """A checked table.

    Attributes:
        path: the file, absolute.
        rows: time of each row in seconds, and its settings as users write them.
        lasts_s: how long one pass lasts; None if the file does not say.
    """

    path: Path
    rows: Sequence[tuple[float, Mapping[str, str]]]
    lasts_s: float | None

    def changes(self, repeat: int) -> Iterator[tuple[float, Mapping[str, str]]]:
        """Yields time and settings of each change in so many passes.

        Raises:
            UsageError: the table does not say how long it lasts, or makes too many changes.
        """
        if repeat > 1 and self.lasts_s is None:
            raise UsageError(f"table: {self.path} does not say how long it lasts", "end it with a line as 30s,end")
        if repeat * len(self.rows) > _MAX_CHANGES:
            changes = f"{repeat} x {len(self.rows)} changes"
            raise UsageError(f"table: {self.path}: {changes} are more than {_MAX_CHANGES}", "repeat it less often")
        for turn in range(repeat):
            for at_s, settings in self.rows:
                yield round(turn * (self.lasts_s or 0) + at_s, 9), settings


def read_table(path: Path) -> Table:
    """Reads a table; a UsageError names the line that is wrong."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = [line for line in csv.reader(file, strict=True) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"table: cannot read {path}: {error}") from error
    columns, *body = [[cell.strip() for cell in line] for line in lines] or [[]]
    if columns[:1] != ["time"] or len(columns) < 2 or len(set(columns)) < len(columns):
        raise UsageError(f"table: {path} does not begin with the names of its columns", f"accepted form: {_FORM}")
    lasts_s = None
    if body and len(body[-1]) == 2 and body[-1][1] == "end":
        lasts_s = parse_duration(body.pop()[0], f"table {path}")
    rows = [_row(path, number, columns, cells) for number, cells in enumerate(body, start=2)]
    times = [at_s for at_s, _ in rows] + ([] if lasts_s is None else [lasts_s])
    if not rows or rows[0][0] != 0 or any(later <= sooner for sooner, later in pairwise(times)):
        raise UsageError(f"table: {path}: times must begin with 0s and increase", f"accepted form: {_FORM}")
    if all(parse_probability(loss) == 1 for loss in _losses(rows)):
        raise UsageError(f"table: {path} never lets a packet pass", "give at least one row less loss than 100%")
    return Table(path.absolute(), rows, lasts_s)


def _losses(rows: Sequence[tuple[float, Mapping[str, str]]]) -> Iterator[str]:
    """Yields the loss in each row, which may be that of a row before it."""
    loss = "0"
    for _, settings in rows:
        loss = settings.get("loss", loss)
        yield loss


def _row(path: Path, number: int, columns: Sequence[str], cells: Sequence[str]) -> tuple[float, Mapping[str, str]]:
    where = f"table {path}, row {number}"
    if len(cells) != len(columns):
        raise UsageError(f"{where}: {len(cells)} fields for {len(columns)} columns", f"accepted form: {_FORM}")
    try:
        settings = mininet_units({key: text for key, text in zip(columns[1:], cells[1:], strict=True) if text})
        if "mtu_bytes" in link_fields(settings):
            raise UsageError("mtu: it cannot change while the link is up")
        return parse_duration(cells[0], "time"), settings
    except UsageError as error:
        raise UsageError(f"{where}: {error.args[0]}", error.hint) from error
