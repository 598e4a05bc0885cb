"""`flightpath watch`: one page on which the packets of a recorded cell move."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flightpath.completion import parse
from flightpath.errors import UsageError
from flightpath.units import parse_duration
from results.pages.watch_page import WatchedCell, render_watch
from results.recording.blocks import FOLDER, file_name
from results.recording.file import read
from results.records import CellResult, RunRecord
from results.store.location import add_store_options, store_location
from results.store.ownership import give_to_caller, writing_to
from results.store.run_id import LATEST
from results.store.store import DEFAULT_FOLDER, Store
from results.summary.cell_choice import chosen_cells

_EXAMPLES = """\
examples:
  flightpath run congestion_race --only algorithm=vegas --record
  flightpath watch                              the first recorded cell of the newest run
  flightpath watch latest against=cubic         a cell by its parameters, or by its number: 2
  flightpath watch latest against=cubic --beside latest against=nobody
"""


MAX_LINKED = 12
"""Maximum number of cells to whose pages a report links: a page takes a second, and some megabytes."""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath watch") -> int:
    """Writes the page, and prints its path."""
    options = parse(_parser(prog), arguments)
    store = Store.open(store_location(options), create=False)
    start, end = _seconds(options.start, "--from", 0.0), _seconds(options.until, "--until", float("inf"))
    if end <= start:
        raise UsageError("--until is not after --from")
    chosen = [(options.run, options.cell), *((words[0], " ".join(words[1:])) for words in options.beside)]
    cells = [_watched(store, run, cell, start, end) for run, cell in chosen]
    print(_write(cells, options.output or store.artifacts(options.run) / _page_name(cells[0].label)))
    return 0


def linked_pages(store: Store, record: RunRecord) -> dict[str, str]:
    """Writes pages of a run's recorded cells into its folder; returns their names by the cells' labels."""
    folder, names = store.artifacts(record.run_id), {}
    for cell in _recorded(store, record, store.cells(record.run_id, series=False))[:MAX_LINKED]:
        label = cell.cell.label
        try:
            recording = read(folder / FOLDER / file_name(label))
        except UsageError as error:  # the run may have been killed
            print(f"no page of the packets of {label}: {error.args[0]}", file=sys.stderr)
            continue
        watched = WatchedCell(record.run_id, record.scenario, label, recording)
        names[label] = _write([watched], folder / _page_name(label)).name
    return names


def _write(cells: Sequence[WatchedCell], target: Path) -> Path:
    page = render_watch(cells)
    with writing_to(target):
        target.write_text(page, encoding="utf-8")
    give_to_caller(target)
    return target


def _page_name(label: str) -> str:
    return f"watch-{Path(file_name(label)).stem}.html"


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Writes one HTML page, which needs no server, on which the packets of a recorded cell move: along "
        "links, into queues, out of them; with sequence numbers, windows, queues and throughput on one time line. The "
        "cell must have been measured with `flightpath run SCENARIO --record`.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", nargs="?", default=LATEST, metavar="RUN", help="by default the newest")
    parser.add_argument("cell", nargs="?", default="", metavar="CELL", help="its number, or KEY=VALUE,KEY=VALUE")
    parser.add_argument(
        "--beside",
        nargs="+",
        action="append",
        default=[],
        metavar=("RUN", "CELL"),
        help="another one on the same clock",
    )
    parser.add_argument("--from", dest="start", metavar="TIME", help="leave out what was before, for example 2.5s")
    parser.add_argument("--until", metavar="TIME", help="leave out what came later")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the page (by default in the run's own folder)")
    add_store_options(parser, DEFAULT_FOLDER, "results are")
    return parser


def _seconds(text: str | None, option: str, default: float) -> float:
    return default if text is None else parse_duration(text, option)


def _watched(store: Store, run: str, wanted: str, start: float, end: float) -> WatchedCell:
    record = store.run(run)
    cells = store.cells(record.run_id, series=False)
    recorded = _recorded(store, record, cells)
    if not recorded:
        raise UsageError(
            f"run {record.run_id} has no recorded cell", f"measure it again: flightpath run {record.scenario} --record"
        )
    cell = _chosen(cells, recorded, wanted)
    if not wanted and len(recorded) > 1:
        print(f"the first of {len(recorded)} recorded cells: {cell.cell.label}", file=sys.stderr)
    recording = read(store.artifacts(record.run_id) / FOLDER / file_name(cell.cell.label))
    return WatchedCell(record.run_id, record.scenario, cell.cell.label, recording, start, end)


def _recorded(store: Store, record: RunRecord, cells: Sequence[CellResult]) -> list[CellResult]:
    folder = store.artifacts(record.run_id) / FOLDER
    return [cell for cell in cells if (folder / file_name(cell.cell.label)).exists()]


def _chosen(cells: Sequence[CellResult], recorded: Sequence[CellResult], wanted: str) -> CellResult:
    """Returns the first recorded cell that has all wanted parameters, or the cell of a number from 1."""
    known = f"recorded: {'; '.join(cell.cell.label for cell in recorded)}"
    found = [cell for cell in chosen_cells(cells, wanted.replace(",", " ").split()) if cell in recorded]
    if not found:
        raise UsageError(f"there is no recorded cell {wanted!r}", known)
    return found[0]


if __name__ == "__main__":
    sys.exit(main())
