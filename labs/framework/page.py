"""Output for students at the terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from flightpath.terminal import plain, print_table
from labs.framework.catalogue import short_name
from labs.framework.checking import Checked
from labs.framework.lab import Lab, hints


def print_labs(console: Console, labs: Sequence[Lab]) -> None:
    table = Table("lab", "name", "title", "minutes", "you can do afterwards")
    for lab in labs:
        table.add_row(str(lab.number), short_name(lab), lab.title, str(lab.minutes), lab.goal)
    print_table(console, table)


def print_started(console: Console, lab: Lab, folder: Path) -> None:
    console.print(plain(f"Lab {lab.number}: {lab.title} ({lab.minutes} minutes)", "bold"))
    console.print(plain(lab.goal))
    console.print(plain(f"you should know: {lab.needs}"))
    console.print(plain(f"read {folder}/README.md; when you are done: flightpath lab check {folder}"))


def print_checked(console: Console, checked: Checked, files: Mapping[str, Path | None]) -> None:
    """Prints the findings with hints, and the names and paths of the files that the check left."""
    lab = checked.submission.lab
    console.print(plain(f"Lab {lab.number}: {lab.title}, the variant of {checked.submission.variant.student}", "bold"))
    if checked.measured.failure:
        console.print(plain(f"your work could not be tried: {checked.measured.failure}", "red", keep="\n\t"))
    if not checked.is_judged:
        reasons = "; ".join(checked.measured.reasons)
        console.print(plain(f"nothing was judged: the measurement is {checked.measured.verdict}: {reasons}", "yellow"))
        return
    table = Table("", "what", "found", "points")
    for finding in checked.findings:
        mark, colour = ("right", "green") if finding.passed else ("wrong", "red")
        points = f"{finding.points if finding.passed else 0} of {finding.points}"
        table.add_row(plain(mark, colour), plain(finding.what), plain(finding.evidence or "-"), points)
    print_table(console, table)
    for hint in filter(None, hints(checked.findings)):
        console.print(plain(f"hint: {hint}"))
    console.print(plain(f"{checked.points} of {checked.of} points", "bold green" if checked.passed else "bold"))
    for what, file in files.items():
        if file:
            console.print(plain(f"{what}: {file}"))
