"""The command `python3 -m scenarios.reproduction`: measures the record, writes its page, compares two records."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flightpath.clock import Clock
from flightpath.command_line import check_jobs, run_command, sigterm_as_interrupt
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.parsers import Parser
from flightpath.project import PROJECT
from flightpath.units import counted, format_span
from results.store.store import Store
from scenarios.reproduction import check, parts, writing
from scenarios.reproduction.measuring import command, measure, remaining_s
from scenarios.reproduction.part import CORES, Part
from scenarios.reproduction.parts import PARTS
from scenarios.reproduction.progress import State, state_of
from scenarios.reproduction.record import Record, newest_evidence, read, record_of

FOLDER, FULL_FOLDER = Path("results/reproduction"), Path("results/reproduction-full")

_EPILOG = """\
examples:
  python3 -m scenarios.reproduction --dry-run           what would be measured, and how long that takes
  python3 -m scenarios.reproduction                     all parts, first those that need a quiet machine; after
                                                        Ctrl-C, the same command continues
  python3 -m scenarios.reproduction dtn_buffers         one part
  python3 -m scenarios.reproduction --full --dry-run    the same in the papers' own sizes
  python3 -m scenarios.reproduction --page              the page from the store; nothing is measured
  python3 -m scenarios.reproduction --record            updates the record in docs/, and what quotes it, to commit
  python3 -m scenarios.reproduction --check             compares the store with that record
  python3 -m scenarios.reproduction --check other.json  compares another record with it

A part is complete if its run is done, has the same plan, and nothing that measures was changed since.

exit codes: 0 done, 1 a verdict changed or a part could not be measured, 2 usage, 3 the machine lacks something,
130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code."""
    sigterm_as_interrupt()
    return run_command(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python3 -m scenarios.reproduction",
        description="Measures every claim of the four papers, and writes one page about it.",
        epilog=_EPILOG,
    )
    names = ", ".join(part.name for part in PARTS)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"by default all: {names}")
    parser.add_argument("--full", action="store_true", help="the papers' own sizes and repetitions: days on two cores")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help=f"folder of the store and the page ({FOLDER}; with --full {FULL_FOLDER})",
    )
    parser.add_argument("--cluster", metavar="ADDRESS", help="measure what is in virtual time on a cluster")
    parser.add_argument("--jobs", type=int, metavar="N", help="parallel cells in virtual time (one per processor)")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--dry-run", action="store_true", help="print what would be measured, and how long it takes")
    modes.add_argument("--page", action="store_true", help="write the page from the store; measure nothing")
    modes.add_argument("--record", action="store_true", help="replace these parts in the record in docs/, to commit")
    modes.add_argument(
        "--check",
        nargs="?",
        const=True,
        metavar="FILE",
        help="compare the store, or the record in FILE, with the committed one; 1 if a verdict changed",
    )
    parser.set_defaults(run_command=_run)
    return parser


def _run(options: argparse.Namespace) -> int:
    check_jobs(options.jobs)
    known = parts.FULL_SIZE if options.full else PARTS
    wanted = parts.chosen(options.parts, known)
    folder = (options.results or (FULL_FOLDER if options.full else FOLDER)).absolute()
    if options.full and (options.record or options.check is not None):
        raise UsageError("--full: the record in docs/ has smaller sizes", "the full size has its own page: --page")
    if options.check is not None:
        later = _record(folder, wanted) if options.check is True else read(Path(options.check))
        return _check(later, wanted)
    if options.dry_run:
        return _dry_run(wanted, folder, options)
    if options.page or options.record:
        return _write(folder, wanted, docs=options.record)
    states = _states(wanted, folder)
    code = measure(states, folder, options.jobs, options.cluster)
    return max(_write(folder, known), code)


def _states(wanted: Sequence[Part], folder: Path) -> list[State]:
    """Returns the states of the parts in the order of measurement: those that need a quiet machine come first."""
    store = _store(folder)
    return [state_of(part, store) for part in sorted(wanted, key=lambda part: part.clock is Clock.VIRTUAL)]


def _store(folder: Path) -> Store | None:
    try:
        return Store.open(folder, create=False)
    except UsageError:  # nothing was measured yet
        return None


def _dry_run(wanted: Sequence[Part], folder: Path, options: argparse.Namespace) -> int:
    states, jobs = _states(wanted, folder), options.jobs
    for state in states:
        cells = f"{state.cells} of {state.planned} cells"
        left = format_span(remaining_s(state, jobs))
        print(f"{state.part.name:32} {state.next:9} {cells:20} {state.part.clock:8} {left}")
        words = command(state, folder, jobs, options.cluster)
        print(f"  {' '.join(['python', *words[words.index('-m') :]])}")
    total = format_span(sum(remaining_s(state, jobs) for state in states))
    print(f"about {total} on {counted(jobs or CORES, 'core')}")
    return 0


def _record(folder: Path, wanted: Sequence[Part]) -> Record:
    return record_of(newest_evidence(wanted, Store.open(folder, create=False)))


def _write(folder: Path, wanted: Sequence[Part], *, docs: bool = False) -> int:
    store = Store.open(folder, create=False)
    evidence = newest_evidence(wanted, store)
    if not evidence:
        raise UsageError(f"{store.name} has no run of the record", "make reproduce")
    if docs:
        check.require_one_commit(record_of(evidence).parts)
        files = writing.update(evidence, store, PROJECT / "docs", [part.name for part in PARTS])
        files += writing.update_quotes(read(writing.COMMITTED))
    else:
        files = writing.write(evidence, store, folder, [part.name for part in wanted])
    print(*files, sep="\n")
    return 0


def _check(later: Record, wanted: Sequence[Part]) -> int:
    committed = read(writing.COMMITTED)
    difference = check.difference(_of_parts(committed, wanted), _of_parts(later, wanted))
    names = {part.name for part in wanted}
    old = check.stale([part for part in committed.parts if part.name in names])
    remarks = [f"the code that measures has changed since the record: {', '.join(old)}"] if old else []
    if changed := check.other_claims(_of_parts(committed, wanted), wanted):
        again = "make reproduce, then make reproduce-record"
        remarks.append(f"the record has not judged the claims of today: {', '.join(changed)} ({again})")
    for line in [*remarks, *difference.remarks, *difference.failures]:
        print(line)
    print(f"{difference.same} verdicts are the same, {len(difference.failures)} changed", file=sys.stderr)
    return MeasurementFailed.exit_code if difference.failures else 0


def _of_parts(record: Record, wanted: Sequence[Part]) -> Record:
    """Restricts a record to some parts; if all are wanted, it keeps parts that no longer exist too."""
    names = {part.name for part in wanted}
    if names >= {part.name for part in PARTS}:
        return record
    return replace(record, claims=tuple(claim for claim in record.claims if claim.part in names))


if __name__ == "__main__":
    sys.exit(main())
