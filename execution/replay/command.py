"""The command `flightpath replay`: measures a stored cell again, and stops its clock to look."""

import argparse
import re
import signal
import sys
from collections.abc import Sequence

from pydantic import ValidationError

from execution.guest_executors import UmlExecutor
from execution.replay.prompt import Prompt
from execution.replay.stopped_cell import stopped_cell
from experiments import catalogue
from experiments.fidelity.watch import LOAD_BEGAN
from experiments.plan import Plan
from flightpath.clock import Clock
from flightpath.command_line import run_command, sigterm_as_interrupt
from flightpath.errors import UsageError
from flightpath.identity import identity
from flightpath.parsers import Parser
from flightpath.suggestions import did_you_mean
from results.records import Cell, CellResult, RunRecord
from results.store.location import add_store_options, store_location
from results.store.store import DEFAULT_FOLDER, Store
from results.summary.cell_choice import chosen_cells

_DESCRIPTION = """\
Measures a cell of a stored run again, in virtual time and with the same seed, and stops its clock: a debugger for
networks. You look at a copy of the whole kernel, so looking costs no virtual time and no random number, and the cell
continues to the same figures, to the last bit. At the end they are compared with the stored ones.

  flightpath replay latest --at 3.2s                      stop there, with a prompt
  flightpath replay latest 2 --at 3.2s --run "h1 ss -tin" --run "sh tc -s qdisc"      print, and end
  flightpath replay latest "protocol=mptcp #1" --at "subflow joined"
  flightpath replay latest --at 3.2s --run "step 1ms" --run links --run continue      look, continue, and compare

Time counts from the start of the cell's load, as in events, series and figures. The clock stops just before the
moment.
"""
_EPILOG = """\
events, for --at and `until`:
  3.2s                   a moment
  retransmission         the next retransmission of any host (also: first retransmission)
  subflow joined         the next subflow that joins an MPTCP connection
  link down, link up     the next cut of a cable, or its end
  queue s1-s2 > 90%      a queue that is more than this full, in either direction; s1->s2 for one

A copy that runs ahead looks for the event, every ms and then every 10 us; the cell stops within 10 us after it, or up
to 2 ms after it if it is nearer than 3 ms.
`help` at the prompt explains the commands, which are also those of --run.

exit codes: 0 done, 1 the figures differ or the cell failed, 2 usage (no such run, cell or host; a run on the real
clock), 3 the machine lacks something, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath replay") -> int:
    """Replays a cell and returns the exit code."""
    parser = Parser(prog=prog, description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("run", metavar="RUN", help="its id, a beginning of one, or `latest`")
    parser.add_argument(
        "cell", nargs="?", metavar="CELL", help="its number in the order of measurement, or its parameters (default 1)"
    )
    parser.add_argument("--at", default="0s", metavar="WHEN", help="a moment or an event (default: the load's start)")
    parser.add_argument(
        "--run", action="append", dest="commands", metavar="COMMAND", help="run this without a prompt, and end"
    )
    add_store_options(parser, DEFAULT_FOLDER, "runs are kept")
    parser.set_defaults(run_command=_replay)
    return run_command(parser, arguments)


def _replay(options: argparse.Namespace) -> int:
    if options.commands is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("a prompt needs a terminal", 'say what to print, for example --run "h1 ss -tin"')
    if options.commands is None:  # there Ctrl-C stops the clock, and ends nothing
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _end)
    else:
        sigterm_as_interrupt()
    store = Store.open(store_location(options), create=False)
    record = store.run(options.run)
    plan = stored_plan(record)
    stored = stored_cell(store.cells(record.run_id), options.cell, record.run_id)
    scenario = catalogue.of_plan(record.scenario, plan.settings) or catalogue.get(record.scenario)
    if stored.cell not in plan.cells():
        raise UsageError(f"the plan of this run has no cell {stored.cell.label}")
    _say_what_is_repeated(record, stored.cell)
    with stopped_cell(scenario, plan, stored.cell) as cell:
        prompt = Prompt(cell, stored)
        prompt.start(options.at)
        if options.commands is None:
            prompt.cmdloop()
        else:
            prompt.run_all(options.commands)
        if prompt.result is None:
            return 0
        return _compare(stored, prompt.result, is_another_run=cell.is_another_run)


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _say_what_is_repeated(record: RunRecord, cell: Cell) -> None:
    print(f"{record.run_id}: {cell.label}", file=sys.stderr)
    differing = [
        f"{name} {record.environment.get(name, 'unknown')}, here {value}"
        for name, value in identity().items()
        if record.environment.get(name) != value
    ]
    if differing:
        print(f"note: it was measured by {'; '.join(differing)}: the figures may differ", file=sys.stderr)


def _compare(stored: CellResult, again: CellResult, *, is_another_run: bool) -> int:
    found = difference(stored, again)
    if not found:
        print("the figures are the same as the stored ones, to the last bit")
        return 0
    print("\n".join(found))
    return 0 if is_another_run else 1


def stored_plan(record: RunRecord) -> Plan:
    """Returns the plan of a run in virtual time."""
    try:
        plan = Plan.from_json(record.plan)
    except ValidationError as error:
        raise UsageError(f"{record.run_id} cannot be replayed: it has no plan") from error
    if plan.clock is Clock.REAL or plan.executor != UmlExecutor.name:
        raise UsageError(
            f"{record.run_id} was measured on the real clock, which cannot be stopped or repeated",
            f"measure it in virtual time: flightpath run {record.scenario} --clock virtual",
        )
    return plan


def stored_cell(cells: Sequence[CellResult], wanted: str | None, run_id: str) -> CellResult:
    """Finds a cell of a run by its number from 1, or by some of its parameters."""
    labels = [result.cell.label for result in cells]
    if not cells:
        raise UsageError(f"{run_id} has no cells", "choose another run: flightpath results list")
    if wanted is None or re.fullmatch("[0-9]+", wanted):
        number = int(wanted or 1)
        if not 1 <= number <= len(cells):
            raise UsageError(f"{run_id} has no cell {number}", f"it has {len(cells)}: 1 to {len(cells)}")
    found = chosen_cells(cells, (wanted or "1").split())
    if len(found) != 1:
        hint = did_you_mean(wanted or "", labels) if not found else f"one of: {', '.join(r.cell.label for r in found)}"
        raise UsageError(f"{run_id} has {len(found) or 'no'} cells {wanted!r}", hint)
    if LOAD_BEGAN not in found[0].certificate.found:
        raise UsageError(
            f"{run_id} was measured by an earlier version, which did not record when the load of a cell began",
            "measure it again, then replay that run",
        )
    return found[0]


def difference(stored: CellResult, again: CellResult) -> list[str]:
    """Returns the differences between two measurements of a cell, a line for each metric and each series."""
    old, new = stored.measurement, again.measurement
    lines = []
    for name in sorted(old.metrics.keys() | new.metrics.keys()):
        before, after = old.metrics.get(name), new.metrics.get(name)
        if before != after:
            values = [f"{each.value!r} {each.unit}" if each else "nothing" for each in (before, after)]
            lines.append(f"{name}: {values[0]} is stored, {values[1]} measured now")
    names = sorted(old.series.keys() | new.series.keys())
    lines += [f"{name}: another series" for name in names if old.series.get(name) != new.series.get(name)]
    return lines
