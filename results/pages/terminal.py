"""Tables and sentences for a terminal."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flightpath.terminal import plain, print_entries, print_line, print_table, tables_that_fit
from results.comparison.compare import Change, Compared
from results.comparison.differences import Difference
from results.records import CellResult, Claim, ClaimVerdict, RunRecord, Verdict
from results.store.run_list import worst
from results.summary.certificates import LATENESS_BINS, certificate_row, histogram, link_rows, sparkline
from results.summary.claims import claims_table
from results.summary.facts import Facts, read_facts
from results.summary.means import MeansTable, means_table
from results.summary.runs import form, machine, run_facts, status_text
from results.summary.verdicts import badge_text, overall

_HEADING_WIDTH = 10
_COLOURS = {
    Verdict.FAITHFUL: "green",
    Verdict.DEGRADED: "yellow",
    Verdict.UNUSABLE: "red",
    ClaimVerdict.REPRODUCED: "green",
    ClaimVerdict.NOT_REPRODUCED: "red",
    ClaimVerdict.NOT_DECIDED: "yellow",
    ClaimVerdict.NOT_TESTED: "yellow",
    Change.FASTER: "green",
    Change.SLOWER: "red",
    Change.MORE: "bold",
    Change.LESS: "bold",
}


def sanitised(value: object, style: str = "") -> Text:
    """Returns text without effects on a terminal, but with its line breaks."""
    return plain(value, style, keep="\n\t")


def print_summary(console: Console, cells: Sequence[CellResult], metrics: Sequence[str] | None = None) -> None:
    """Prints means with intervals by parameter group, and the verdict on all cells in words.

    Wide tables are split.
    """
    shown = means_table(cells, metrics)
    for table in tables_that_fit(console, list(shown.columns), lambda names: _means_part(console, shown, names)):
        print_table(console, table)
    print_line(console, sanitised("mean ± half of the 95 % interval (cells; unusable ones left out)", "italic"))
    print_line(console, sanitised(badge_text(cells), _COLOURS[overall(cells)]))


def _means_part(console: Console, shown: MeansTable, names: Sequence[str]) -> Table:
    """Returns a table of some metrics; the first one has the verdicts."""
    table = Table(expand=False)
    for name in shown.rows[0].parameters if shown.rows else ():
        table.add_column(name)
    for name in names:
        heading = (
            textwrap.fill(name.replace("_", " "), _HEADING_WIDTH, break_long_words=False)
            if console.is_terminal
            else name
        )
        table.add_column(sanitised(f"{heading}\n({shown.columns[name]})"), justify="right", overflow="fold")
    has_verdicts = list(names[:1]) == list(shown.columns)[:1]
    if has_verdicts:
        table.add_column("verdict")
    for row in shown.rows:
        parameters = [f"{value:.4g}" if isinstance(value, float) else value for value in row.parameters.values()]
        verdict = [sanitised(f"{row.verdict}{row.note}", style=_COLOURS[row.verdict])] if has_verdicts else []
        table.add_row(*map(sanitised, parameters), *(sanitised(row.values[name]) for name in names), *verdict)
    return table


def print_answer(console: Console, sentences: Sequence[str]) -> None:
    if sentences:
        console.print(sanitised(" ".join(sentences)), style="bold")


def print_claims(console: Console, claims: Sequence[Claim]) -> None:
    """Prints each claim with the measured value, or in one line why none was tested.

    Remarks that several claims share follow once. A claim that begins with the sentence before is abbreviated.
    """
    if not claims:
        return
    causes = {claim.why for claim in claims}
    if len(causes) == 1 and all(claim.verdict is ClaimVerdict.NOT_TESTED for claim in claims):
        print_line(console, sanitised(f"None of the {len(claims)} claims is tested: {causes.pop()}"))
        return
    shown = claims_table(claims)
    table = _table(("claim", "claimed", "measured", "verdict"), title="Claims", show_lines=True)
    before = ""
    for claim in shown.claims:
        verdict = _coloured(claim.verdict)
        verdict.append(sanitised(f"\n{claim.why}" if claim.why else "", "default"))
        is_longer = before and claim.claim.startswith(f"{before}:")
        sentence = f"…{claim.claim.removeprefix(before)}" if is_longer else claim.claim
        table.add_row(*map(sanitised, (sentence, claim.paper, claim.measured or "-")), verdict)
        before = claim.claim
    print_table(console, table)
    print_line(console, sanitised(f"claims: {shown.counts}", "italic"))
    for remark in shown.remarks:
        print_line(console, sanitised(remark))


def print_certificates(console: Console, cells: Sequence[CellResult], *, links: bool = False) -> None:
    """Prints a line for the certificate of each cell, the reasons for its verdict, and on request its links."""
    table = _table(
        ("cell", "verdict", "rate", "round trip", "late", "dropped", "idle CPU", "steal"),
        title="Fidelity (of each cell the worst link)",
        caption="rate and round trip: measured minus requested, before the load; late: 99th percentile during it",
    )
    checked = [(cell, *read_facts(cell.certificate)) for cell in cells]
    for cell, facts, _ in checked:
        row = certificate_row(cell, facts)
        values = (row.rate, row.rtt, row.late, row.drops, row.idle, row.steal)
        table.add_row(sanitised(row.label), _coloured(row.verdict), *map(sanitised, values))
    print_table(console, table)
    for cell, facts, problems in checked:
        for reason in cell.certificate.reasons:
            print_line(console, sanitised(f"{cell.cell.label}: {reason}"))
        for problem in problems:
            print_line(console, sanitised(f"{cell.cell.label}: cannot be shown: {problem}"))
        if links:
            _print_links(console, cell, facts)


def print_run(console: Console, record: RunRecord) -> None:
    facts = run_facts(record)
    command = facts.pop("command")
    print_entries(console, facts)
    console.print(sanitised(f"command      {command}"), soft_wrap=True)  # can be copied as one line


def print_runs(console: Console, runs: Sequence[tuple[RunRecord, Mapping[Verdict, int]]]) -> None:
    table = Table(*("run", "scenario", "form", "machine", "status", "cells", "verdict"))
    table.columns[0].no_wrap = True
    for record, counts in runs:
        values = (record.run_id, record.scenario, form(record), machine(record), status_text(record))
        verdict = worst(counts)
        table.add_row(*map(sanitised, values), str(sum(counts.values())), _coloured(verdict) if verdict else "-")
    print_table(console, table)


def print_compared(console: Console, compared: Compared) -> None:
    """Prints the changes between two runs: in a sentence, by metric, and by point."""
    table = _table(
        ("metric", "at", "before", "after", "change", "shows"),
        caption="change of the mean with its 95 % interval; its significance considers how many changes were tested",
    )
    for column in table.columns[2:5]:
        column.justify = "right"
    for each in compared.comparisons:
        values = (each.metric, each.point, *each.means_text, each.change_text)
        table.add_row(*map(sanitised, values), _coloured(each.change))
    if compared.comparisons:
        print_table(console, table)
    for sentence in [*compared.sentences, *compared.notes]:
        print_line(console, sanitised(sentence))
    for side, points in ((compared.before, compared.only_before), (compared.after, compared.only_after)):
        if points:
            print_line(console, sanitised(f"only in {side}: {'; '.join(points)}"))
    print_line(console, sanitised(compared.sentence, "bold"))


def print_differences(console: Console, runs: Sequence[str], differences: Sequence[Difference]) -> None:
    if not differences:
        console.print("Nothing else differs: same plan, same environment, same testbed.")
        return
    table = _table(("", "", *runs), title="What else differs", show_lines=len(runs) > 2)
    for difference in differences:
        table.add_row(*map(sanitised, (difference.kind, difference.name, *difference.values)))
    print_table(console, table)


def _print_links(console: Console, cell: CellResult, facts: Facts) -> None:
    rows = link_rows(facts)
    if not rows:
        return
    print_line(console, sanitised(f"\n{cell.cell.label}", "bold"))
    print_line(console, sanitised(f"idle  {sparkline(facts.idle_cpu_percent)}"))
    print_line(console, sanitised(f"steal {sparkline(facts.steal_percent)}"))
    table = _table(
        ("link", "requested", "rate", "round trip", "packets", "dropped", "lateness", "", "GSO packets", "CPU"),
        caption=f"lateness: p50 / p99 / max, shares {', '.join(LATENESS_BINS)}",
    )
    for row in rows:
        measured = (row.name, row.requested, row.rate, row.rtt, row.packets, row.drops, row.lateness)
        table.add_row(*map(sanitised, (*measured, histogram(row.late_bins), row.gso_packets, row.cpu)))
    print_table(console, table)
    for row in rows:
        if row.notes:
            print_line(console, sanitised(f"{row.name}: {row.notes}"))


def _table(headings: Iterable[str], *, title: str = "", caption: str = "", show_lines: bool = False) -> Table:
    """Returns a table in which long texts are folded."""
    table = Table(
        title=title or None,
        title_justify="left",
        caption=caption or None,
        caption_justify="left",
        show_lines=show_lines,
    )
    for heading in headings:
        table.add_column(sanitised(heading), overflow="fold")
    return table


def _coloured(verdict: Verdict | ClaimVerdict | Change) -> Text:
    return sanitised(verdict, style=_COLOURS.get(verdict, ""))
