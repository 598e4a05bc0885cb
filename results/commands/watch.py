"""`flightpath watch`: one page on which the packets of a recorded cell move."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flightpath.completion import parse
from flightpath.errors import UsageError
from flightpath.parsers import Parser
from flightpath.units import parse_duration
from results.pages import film
from results.pages.watch_page import WatchedCell, render_watch
from results.recording.blocks import FOLDER, file_name
from results.recording.changes import link_changes
from results.recording.file import read
from results.recording.pcapng import write_pcapng
from results.records import CellResult, RunRecord
from results.store.location import add_store_options, store_location
from results.store.ownership import give_to_caller, writing_to
from results.store.run_id import LATEST
from results.store.store import DEFAULT_FOLDER, Store
from results.summary.cell_choice import chosen_cells

_DESCRIPTION = """\
Writes one HTML page, which needs no server, on which the packets of a recorded cell move along links, wait in queues
and are dropped; with sequence numbers, windows, queues and throughput on one time line. The cell must have been
measured with `flightpath run SCENARIO --record`.
"""
_EXAMPLES = """\
examples:
  flightpath run congestion_race --only algorithm=vegas --record
  flightpath watch                              the first recorded cell of the newest run
  flightpath watch latest against=cubic         a cell by its parameters, or by its number: 2
  flightpath watch latest against=cubic --beside latest against=nobody
  flightpath watch latest 2 --from 3s --until 4s --output slide.gif     a film of one second, also .mp4
  flightpath watch latest 2 --from 3.2s --speed 1/100 --output slide.png     a picture of a moment
  flightpath watch latest 2 --output cell.pcapng                        for Wireshark, with what became of each packet
"""
_SPEEDS = (1e-4, 10.0)
_FILM_S, _BEFORE_S = 10.0, 3.0
"""Length of a film without --speed; what its page knows of the time before the lanes, whose packets are still there."""


MAX_LINKED = 12
"""Maximum number of cells to whose pages a report links: a page takes a second, and some megabytes."""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath watch") -> int:
    """Writes the page, and prints its path."""
    options = parse(_parser(prog), arguments)
    store = Store.open(store_location(options), create=False)
    start, end = _seconds(options.start, "--from", 0.0), _seconds(options.until, "--until", float("inf"))
    if end <= start:
        raise UsageError("--until must be after --from")
    chosen = [(options.run, options.cell), *((words[0], " ".join(words[1:])) for words in options.beside)]
    cells = [_watched(store, run, cell, start, end) for run, cell in chosen]
    target: Path = options.output or store.artifacts(options.run) / _page_name(cells[0].label)
    if options.speed and target.suffix not in film.SUFFIXES:
        raise UsageError("--speed is for pictures and films only", f"add --output NAME{'|'.join(film.SUFFIXES)}")
    if target.suffix in film.SUFFIXES:
        _write_film(cells, target, options.speed)
    elif target.suffix == ".pcapng":
        _write_pcapng(cells, target)
    else:
        _write(cells, target)
    print(target)
    return 0


def linked_pages(store: Store, record: RunRecord) -> dict[str, str]:
    """Writes pages of a run's recorded cells into its folder; returns their names by the cells' labels."""
    folder, names = store.artifacts(record.run_id), {}
    for cell in _recorded(store, record, store.cells(record.run_id, series=False))[:MAX_LINKED]:
        label = cell.cell.label
        try:
            recording = read(folder / FOLDER / file_name(label))
        except UsageError as error:  # the run may have been killed
            print(f"cannot write a page of the packets of {label}: {error.args[0]}", file=sys.stderr)
            continue
        watched = WatchedCell(record.run_id, record.scenario, label, recording, changes=link_changes(cell, recording))
        names[label] = _write([watched], folder / _page_name(label)).name
    return names


def _write(cells: Sequence[WatchedCell], target: Path) -> Path:
    page = render_watch(cells)
    with writing_to(target):
        target.write_text(page, encoding="utf-8")
    give_to_caller(target)
    return target


def _write_film(cells: Sequence[WatchedCell], target: Path, speed: str | None) -> None:
    start, end = cells[0].start_s, min(cells[0].end_s, max(each.recording.duration_s for each in cells))
    if end <= start:
        raise UsageError(f"--from: the recording ends after {end:g} s", "choose an earlier moment")
    usual = max(_SPEEDS[0], min(_SPEEDS[1], (end - start) / _FILM_S))
    span = film.Span(start, end, _speed(speed) if speed else usual)
    if len(span.moments_ms(target.suffix)) > film.MAX_FRAMES:
        what = f"the film would have more than {film.MAX_FRAMES} frames"
        raise UsageError(what, "choose a higher --speed, or a shorter time between --from and --until")
    before_s = _BEFORE_S + film.SHOWN_S * span.speed
    needed = [replace(each, start_s=max(0.0, start - before_s)) for each in cells]
    with writing_to(target):
        film.write_film(render_watch(needed), target, span)
    give_to_caller(target)


def _write_pcapng(cells: Sequence[WatchedCell], target: Path) -> None:
    if len(cells) > 1:
        raise UsageError("a pcapng file has only one cell", "leave out --beside")
    with writing_to(target):
        write_pcapng(cells[0].recording, target, cells[0].start_s, cells[0].end_s)
    give_to_caller(target)


def _speed(text: str) -> float:
    """Reads a speed: `1/100` or `0.01`."""
    above, _, below = text.partition("/")
    try:
        speed = float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        speed = 0.0
    if not _SPEEDS[0] <= speed <= _SPEEDS[1]:
        raise UsageError(f"--speed: {text!r} is not a speed", "choose one from 1/10000 to 10, for example 1/100")
    return speed


def _page_name(label: str) -> str:
    return f"watch-{Path(file_name(label)).stem}.html"


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=prog,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
    )
    parser.add_argument("run", nargs="?", default=LATEST, metavar="RUN", help="the run (default: the newest)")
    parser.add_argument("cell", nargs="?", default="", metavar="CELL", help="the cell's number, or KEY=VALUE,KEY=VALUE")
    parser.add_argument(
        "--beside",
        nargs="+",
        action="append",
        default=[],
        metavar=("RUN", "CELL"),
        help="show another cell on the same clock",
    )
    parser.add_argument("--from", dest="start", metavar="TIME", help="beginning of what is shown, for example 2.5s")
    parser.add_argument("--until", metavar="TIME", help="end of what is shown")
    parser.add_argument(
        "--speed",
        metavar="RATIO",
        help="speed of a film, or scale of a picture, for example 1/100 (default: a film takes 10 s)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="file to write (default: a page in the run's own folder); .png, .gif and .mp4 are pictures and films of "
        "the page, drawn by Chromium; .pcapng is for Wireshark",
    )
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
    changes = link_changes(cell, recording)
    return WatchedCell(record.run_id, record.scenario, cell.cell.label, recording, start, end, changes)


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
