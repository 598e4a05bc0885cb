"""A class's submissions, graded unattended: those of honest students, of every lab, and hostile ones among them.

Marks are what the attempts deserve, hostile submissions cost only themselves, nothing outside is touched, and the marks
of the honest ones are the same beside two busy loops for each processor.
"""

import csv
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

from flightpath.project import PROJECT
from labs.framework import catalogue
from labs.framework.lab import Variant
from tests.campaign import hostile_submissions
from tests.campaign.machine_state import MachineState, marked_environment
from tests.campaign.outcome import Outcome
from tests.support.busy_machine import busy_machine
from tests.support.handed_in import attempts, hand_in

_LIMIT_S = 7200
_HONEST, _SHORT_LABS = 4, (2, 12)
Rows = Mapping[str, Mapping[str, str]]


def run(short: bool) -> Iterator[Outcome]:
    """Four honest submissions for each of twelve labs, and hostile ones; in the short form for two labs.

    Leave the project's files alone meanwhile: what changes there counts as a fault.
    """
    with tempfile.TemporaryDirectory(prefix="flightpath-campaign-") as name:
        honest, all_of_them = Path(name) / "honest", Path(name) / "all"
        deserved = _honest(honest, _SHORT_LABS if short else None)
        all_of_them.mkdir()
        hostile = hostile_submissions.write_all(all_of_them, short=short)
        before = _files_outside()
        marks, faults = _graded([honest, all_of_them])
        faults += [f"{each} has no mark" for each in {*deserved, *hostile} - set(marks)]
        faults += _undeserved(marks, deserved, hostile)
        faults += [f"changed or left: {file}" for file in sorted(_files_outside() ^ before)]
        figures = f"{len(deserved)} of students in {len({name[:5] for name in deserved})} labs, {len(hostile)} hostile"
        yield Outcome("grading", f"{len(marks)} submissions", figures, tuple(faults))
        busy, faults = _graded([honest], busy=True)
        faults += [f"{each}: {marks[each]} and then {row}" for each, row in busy.items() if row != marks[each]]
        same = sum(row == marks[each] for each, row in busy.items())
        yield Outcome("grading beside busy loops", f"{len(busy)} submissions", f"{same} the same mark", tuple(faults))


def _honest(folder: Path, numbers: tuple[int, ...] | None) -> dict[str, bool]:
    """Hands in solutions and mistakes; returns for each whether it deserves all points."""
    deserved = {}
    for lab in catalogue.all_labs():
        if numbers and lab.number not in numbers:
            continue
        for index in range(_HONEST):
            name = f"lab{lab.number:02}_{index}"
            tried = attempts(lab, Variant(name))
            wrong = [each for each in tried if each != "solution"]
            chosen = "solution" if index < 2 else wrong[(lab.number + index) % len(wrong)]
            hand_in(lab, Variant(name), tried[chosen], folder / name)
            deserved[name] = chosen == "solution"
    return deserved


def _graded(folders: list[Path], *, busy: bool = False) -> tuple[Rows, list[str]]:
    """The marks by submission, and what was left behind."""
    state, (mark, environment) = MachineState.read(), marked_environment()
    table = folders[0].parent / "marks.csv"
    argv = [sys.executable, "-m", "labs", "grade", *map(str, folders), "--csv", str(table)]
    how = {"capture_output": True, "text": True, "timeout": _LIMIT_S, "check": False}
    with busy_machine() if busy else nullcontext():
        done = subprocess.run(argv, cwd=PROJECT, env=environment, **how)
    faults = state.faults(mark, [])
    if done.returncode not in (0, 4) or "Traceback" in done.stderr:
        faults.append(f"exit code {done.returncode}: …{done.stderr[-400:]}")
    with table.open(newline="") as opened:
        rows = {row["submission"]: row for row in csv.DictReader(opened)}
    keys = ("points", "of", "status")
    return {name: {key: row[key] for key in keys} for name, row in rows.items()}, faults


def _undeserved(marks: Rows, deserved: Mapping[str, bool], hostile: list[str]) -> Iterator[str]:
    for name, is_solved in deserved.items():
        row = marks.get(name, {})
        if row.get("status") != "judged" or (row["points"] == row["of"]) is not is_solved:
            yield f"{name}: {row}, and it {'is' if is_solved else 'is not'} a solution"
    for name in hostile:
        row = marks.get(name, {})
        if row.get("status") == "judged" and row["points"] == row["of"]:
            yield f"{name}: {row}, and it is hostile"


def _files_outside() -> frozenset[tuple[str, int, int]]:
    """What submissions could touch: the project's files, and names where programs leave theirs."""
    folders = [PROJECT / name for name in ("labs", "flightpath", "execution", "native", "results", "topologies")]
    files = [file for folder in folders for file in folder.rglob("*") if "__pycache__" not in file.parts]
    files += Path("/tmp").glob("flightpath-*")
    files += [file for folder in (Path("/etc"), hostile_submissions.OUTSIDE.parent) for file in folder.iterdir()]
    stated = [(str(file), file.lstat()) for file in files if not file.is_dir()]
    return frozenset((name, status.st_size, status.st_mtime_ns) for name, status in stated)
