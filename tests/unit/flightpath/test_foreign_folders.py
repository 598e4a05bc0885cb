"""Nothing of ours runs Python files of the current folder, which may be anybody's."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import distribution, packages_distributions
from itertools import pairwise
from pathlib import Path

import pytest

from flightpath.cli import COMMANDS
from flightpath.commands import at_once
from flightpath.launcher import python_module
from flightpath.project import PROJECT
from tests.support.finished import finished

FLOORS = [folder.name for folder in PROJECT.iterdir() if (folder / "__init__.py").exists() and folder.name != "tests"]
SCRIPTS = [point.name for point in distribution("flightpath").entry_points if point.group == "console_scripts"]


@pytest.fixture
def hostile(tmp_path) -> Path:
    """A folder with a module by each name that any of our processes imports; one that runs leaves its name."""
    (tmp_path / "folder").mkdir()
    for name in {*sys.stdlib_module_names, *packages_distributions(), *FLOORS}:
        text = f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + ' ')\n"
        (tmp_path / "folder" / f"{name}.py").write_text(text)
    return tmp_path / "folder"


def run_in(folder: Path, argv: Sequence[str | Path]) -> str:
    """Runs a command in the hostile folder, none of whose modules may run; returns what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = finished(argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL)
    mark = folder.parent / "ran"
    assert not mark.exists(), mark.read_text()
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(400)  # some twenty processes, and other tests beside them
def test_no_command_of_ours_runs_them_and_each_calls_itself_by_the_name_that_was_typed(hostile):
    folder = Path(sys.executable).parent
    typed = [[name] for name in SCRIPTS] + [["flightpath", name] for name in COMMANDS]
    printed = at_once(partial(run_in, hostile, [folder / name, *words, "--help"]) for name, *words in typed)
    for words, text in zip(typed, printed, strict=True):
        assert text.lower().startswith(f"usage: {' '.join(words)}")
    run_in(hostile, python_module("results", "list", "--help"))


def test_none_of_the_processes_that_preflight_forks_its_streams_from_runs_them(hostile):
    script = hostile.parent / "script.py"
    script.write_text("from probes.preflight.transfer.pool import WorkerPool\nWorkerPool([]).connect()")
    run_in(hostile, [sys.executable, script])


def test_a_module_of_ours_that_somebody_runs_takes_the_folder_off_the_path(hostile):
    for file in hostile.iterdir():
        if file.stem != "rich":  # which the command imports after our first module
            file.unlink()
    command = [sys.executable, "-m", "results", "list", "--help"]
    run_in(hostile, command)
    run_in(hostile, ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh", *command])


def test_each_python_that_is_started_anywhere_has_no_folder_on_its_path():
    sources = [file for floor in FLOORS for file in (PROJECT / floor).rglob("*.py")]
    found = {f"{file.relative_to(PROJECT)}:{line}": option for file in sources for line, option in started(file)}
    assert len(found) > 10
    assert {where: option for where, option in found.items() if option not in ("-P", "-I")} == {}


def started(file: Path) -> Iterator[tuple[int, str]]:
    """Yields each command line in a source that begins with a Python: its line, and the option that follows."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.List | ast.Tuple):
            for element, following in pairwise([*node.elts, ast.Constant("")]):
                if ast.unparse(element) in ("sys.executable", "project_python()", "programs.python()"):
                    yield element.lineno, following.value if isinstance(following, ast.Constant) else ""
