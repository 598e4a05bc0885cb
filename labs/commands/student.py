"""The commands of students: list, start, check."""

import argparse
import getpass
from pathlib import Path
from typing import TypeAlias

from rich.console import Console

from flightpath.errors import UntrustworthyResult
from flightpath.parsers import Parser
from labs.framework import catalogue, page, work
from labs.framework.check_files import draw, watched_check
from labs.framework.checking import require_answers
from labs.framework.lab import Variant, hints
from results.store.lab_checks import LabCheck, keep_check
from results.store.location import STORE_FORM, StoreLocation, server_url
from results.store.store import Store

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""The parsers of the commands of `flightpath lab`."""


def add_commands(commands: Commands) -> None:
    listing = commands.add_parser("list", help="list the labs", description="Lists the labs.")
    listing.set_defaults(run_command=_list)

    text = "Makes a folder with a lab's instructions, in a student's own variant, and the files to complete."
    start = commands.add_parser("start", help="make a folder with instructions and files", description=text)
    start.add_argument("lab", metavar="LAB", help="its number or its name")
    add_variant(start)
    start.add_argument("--folder", type=Path, metavar="DIR", help="the folder to make (default labNN_NAME, here)")
    start.set_defaults(run_command=_start)

    text = (
        "Runs a student's work in a network of the student's variant, in virtual time, and says what is right and what "
        "is wrong. Writes a figure, check.png, and a page on which the packets move, check.html. Exit codes: 0 all is "
        "right, 1 something is wrong, 2 usage, 3 this machine lacks something, 4 the measurement cannot be trusted, so "
        "nothing was judged."
    )
    checking = commands.add_parser("check", help="run and judge your work", description=text)
    checking.add_argument(
        "folder", nargs="?", type=Path, default=Path(), metavar="DIR", help="the lab's folder (default: here)"
    )
    checking.add_argument(
        "--store",
        metavar="URL",
        help=f"show the result on your class's dashboard; your teacher gives out {STORE_FORM}",
    )
    checking.set_defaults(run_command=_check)


def add_variant(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--student", default=getpass.getuser(), metavar="NAME", help="whose variant (default: your user name)"
    )
    command.add_argument("--course", default="", metavar="WORD", help="the word that your teacher gave out, if any")


def class_store(url: str) -> Store:
    """Opens the store that a class shares, and prepares its database if that is empty."""
    return Store.open(StoreLocation(Path(), server_url(url)))


def _list(_options: argparse.Namespace) -> int:
    page.print_labs(Console(), catalogue.all_labs())
    return 0


def _start(options: argparse.Namespace) -> int:
    lab = catalogue.find(options.lab)
    folder = options.folder or Path(catalogue.folder_of(lab).name)
    work.start(lab, Variant(options.student, options.course), folder)
    page.print_started(Console(), lab, folder)
    return 0


def _check(options: argparse.Namespace) -> int:
    submission = work.read(options.folder)
    require_answers(submission)
    console = Console()
    store = class_store(options.store) if options.store else None
    with Console(stderr=True).status(f"running your work on the {submission.lab.clock} clock"):
        checked, packets = watched_check(submission)
    drawn = draw(submission.lab, checked.measured, options.folder)
    page.print_checked(console, checked, {"picture": drawn, "watch what happened": packets})
    if not checked.is_judged:
        return UntrustworthyResult.exit_code
    if store:
        lab, variant, shown = submission.lab, submission.variant, tuple(hints(checked.findings))
        names = (lab.number, lab.title, variant.student, variant.course)
        keep_check(store, LabCheck(*names, checked.points, checked.of, shown))
    return 0 if checked.passed else 1
