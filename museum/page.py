"""The museum as Markdown: the section of an entry, and the page of all."""

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.files.tables import Report
from flightpath.project import PROJECT
from museum.catalogue import entry
from museum.record import claims
from results.pages.markdown_table import table
from results.summary.numbers import parameter_text, scale, short

PAGE = PROJECT / "docs/museum.md"
_INTRODUCTION = """\
# The museum

Public reports of this field, each as an [experiment file](experiment-files.md) that measures what was reported, with
and without its cause. They run in virtual time, so they give the same figures however busy the machine is.

```sh
flightpath museum list
flightpath museum show mahimahi_144       # report, figures and cause
flightpath museum run mahimahi_144        # measures it, like flightpath run FILE.toml
```

An entry is a file in `museum/entries/`; copy one and change it to answer a report of your own. The sentences about a
report are ours. What was reported is what somebody wrote there, not what a project says of itself, and newer versions
may do otherwise. An entry that starts a program of QUIC needs `make quic`. Where another program stands for the
one that was reported, the cause says so: xquic is in no registry, and picoquic only inside aiopquic, which needs Python
3.12.

Written by `flightpath museum record`; do not edit."""


def page_of(entries: Mapping[str, Any]) -> str:
    """Returns the page of all entries in a record."""
    parts = [_INTRODUCTION]
    for name, measured in sorted(entries.items()):
        parts.append("\n".join(entry_lines(name, measured)))
    return "\n\n".join(parts) + "\n"


def entry_lines(name: str, measured: Mapping[str, Any]) -> Iterator[str]:
    """Yields the lines of an entry: the report, the figures of the record, and the cause."""
    _, report = entry(name)
    yield f"## {name}"
    yield ""
    yield f"[{report.source}]({address(report)}): {report.reported.strip()}"
    yield ""
    yield from table(*figures(measured))
    yield ""
    yield from table(
        ("claim", "expected", "measured", "verdict"),
        [(each.claim, each.paper, each.measured, str(each.verdict)) for each in claims(name, measured)],
    )
    yield ""
    yield f"**Why:** {report.cause.strip()}"
    yield ""
    yield f"**What would change it:** {report.remedy.strip()}"
    yield ""
    yield f"Measured by commit {measured['commit']}, seed {measured['seed']}: `flightpath museum run {name}`."


def address(report: Report) -> str:
    """Returns the web address of a report."""
    repository, _, number = report.source.partition("#")
    return f"https://github.com/{repository}/issues/{number}"


def figures(measured: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Returns the head and the rows of the table of means over repetitions, a row for each combination of values."""
    points: dict[tuple[Any, ...], list[Mapping[str, float]]] = {}
    for cell in measured["cells"]:
        points.setdefault(tuple(cell["parameters"].items()), []).append(cell["metrics"])
    means = {
        point: {metric: statistics.fmean(cell[metric] for cell in cells) for metric in measured["units"]}
        for point, cells in points.items()
    }
    head = list(dict(next(iter(means))))
    rows = [[parameter_text(value) for _, value in point] for point in means]
    for metric, unit in measured["units"].items():
        factor, shown = scale([values[metric] for values in means.values()], unit)
        head.append(metric.replace("_", " ") + (f" ({shown})" if unit != "1" else ""))
        for row, values in zip(rows, means.values(), strict=True):
            row.append(short(values[metric] * factor))
    return head, rows


def write_page(entries: Mapping[str, Any]) -> None:
    """Writes the page of all entries."""
    PAGE.write_text(page_of(entries), encoding="utf-8")
