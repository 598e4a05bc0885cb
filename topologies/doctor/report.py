"""The doctor's report: a table for people, a JSON object for programs, and a summary in one sentence."""

import dataclasses
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flightpath.terminal import print_line
from topologies.doctor.check import CheckResult, State
from topologies.doctor.examination import Examination

_COLOURS = {State.OK: "green", State.LIMITED: "yellow", State.MISSING: "red", State.UNKNOWN: "yellow"}
_OPTIONAL = {State.MISSING: "it lacks", State.LIMITED: "it is limited in", State.UNKNOWN: "not tried:"}
_REQUIRED_MARK = "*"
_MAX_NAMES = 8


def as_json(examination: Examination) -> dict[str, Any]:
    """Returns the object that `--json` prints."""
    return {
        "machine": {**examination.machine, "loaded_modules": list(examination.loaded_modules)},
        "checks": [dataclasses.asdict(result) for result in examination.results],
        "summary": summary(examination),
    }


def summary(examination: Examination) -> str:
    """Summarises in one sentence what this machine can and cannot do."""
    results = examination.results
    lacking = [result for result in results if result.required and result.state is State.MISSING]
    if lacking:
        return f"This machine cannot run the main experiment: it lacks {_names(lacking)}; the fixes are above."
    untried = [result for result in results if result.required and result.state is State.UNKNOWN]
    if untried:
        return f"Whether this machine can run the main experiment is not known: {_names(untried)} could not be tried."
    clauses = [_clause(results, state, words) for state, words in _OPTIONAL.items()]
    clauses = [clause for clause in clauses if clause]
    if not clauses:
        return "This machine can run everything."
    return f"This machine can run the main experiment (make mptcp_load); {'; '.join(clauses)}."


def print_table(console: Console, examination: Examination) -> None:
    """Prints the checks by area, the consequence and remedy of each missing feature, and the summary."""
    machine = examination.machine
    headline = (
        f"{machine['distribution']}, Linux {machine['kernel']} on {machine['architecture']}, {machine['cores']} "
        f"processors, {machine['memory_bytes'] / 2**30:.0f} GiB, as {machine['user']}"
    )
    print_line(console, Text(headline, style="bold"))
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column("check", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("found", overflow="fold", ratio=1)
    for area, results in groupby(examination.results, key=lambda result: result.area):
        table.add_row()
        table.add_row(Text(area, style="bold"))
        for _, alike in groupby(results, key=_row_key):
            table.add_row(*_cells(list(alike)))
    console.print(table)
    console.print()
    console.print(Text(f"{_REQUIRED_MARK} `make mptcp_load` needs it"))
    if examination.loaded_modules:
        names = ", ".join(examination.loaded_modules)
        console.print(Text(f"For these checks the kernel has loaded its modules {names}."))
    console.print(Text(summary(examination), style="bold"))


def _row_key(result: CheckResult) -> tuple[str, ...]:
    """Returns a check's cells besides its name; neighbours with the same cells share one row, unless they work."""
    own_row = result.name if result.state is State.OK else ""
    return own_row, result.state, result.found, result.costs, result.remedy


def _cells(alike: Sequence[CheckResult]) -> tuple[Text, Text, Text]:
    result = alike[0]
    details = Text(result.found)
    if result.state is not State.OK:
        details.append(f"\n{result.costs}", style="italic")
        details.append("\nto fix: ", style="bold")
        details.append(result.remedy)
    names = [f" {_REQUIRED_MARK if it.required else ' '} {it.name}" for it in alike]
    return Text("\n".join(names)), Text(result.state, style=_COLOURS[result.state]), details


def _names(results: Sequence[CheckResult]) -> str:
    return ", ".join(result.name for result in results)


def _clause(results: Sequence[CheckResult], state: State, words: str) -> str:
    names = [result.name for result in results if result.state is state]
    if not names:
        return ""
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"{words} {', '.join(names[:_MAX_NAMES])}{more}"
