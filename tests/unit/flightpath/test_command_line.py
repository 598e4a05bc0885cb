"""The frame of every command line: what ends in which exit code, and what is printed."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flightpath.command_line import exit_code_of, run_command
from flightpath.errors import FlightpathError, MissingCapability, UntrustworthyResult, UsageError
from flightpath.parsers import Parser
from flightpath.project import PROJECT


def failing(error: BaseException):
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(("returned", "code"), [(0, 0), (None, 0), (4, 4)])
def test_what_a_command_returns_is_its_exit_code(returned, code, capsys):
    assert exit_code_of(lambda: returned) == code
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("kind", "code"), [(FlightpathError, 1), (UsageError, 2), (MissingCapability, 3), (UntrustworthyResult, 4)]
)
def test_our_errors_are_a_sentence_with_a_hint_and_not_a_traceback(kind, code, capsys):
    assert exit_code_of(failing(kind("broken", "mend it"))) == code
    assert capsys.readouterr() == ("", "error: broken\n  mend it\n")


def test_an_interruption_is_130(capsys):
    assert exit_code_of(failing(KeyboardInterrupt())) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_a_python_package_that_is_not_installed_is_named(capsys):
    def command() -> None:
        import flightpath_nosuch.part  # noqa: F401

    assert exit_code_of(command) == 3
    assert f"flightpath_nosuch is not installed for {sys.executable}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [ValueError(), ModuleNotFoundError(name="flightpath.no_such_module"), BrokenPipeError()], ids=repr
)
def test_a_mistake_and_a_connection_that_breaks_while_somebody_reads_keep_their_traceback(error, capfd):
    with pytest.raises(type(error)):
        exit_code_of(failing(error))


def test_a_reader_that_stops_reading_ends_a_command_quietly():
    code = "import sys; from flightpath.command_line import exit_code_of\n"
    code += "sys.exit(exit_code_of(lambda: print('line\\n' * 100_000)))"
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as unread:
        done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, stdout=unread, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("path", ["x" * 300, "/dev/null/x", "/"])
def test_a_path_that_is_none_is_said_without_a_traceback(path, capsys):
    assert exit_code_of(lambda: Path(path).write_text("")) == 1
    assert capsys.readouterr().err.startswith(f"error: cannot use {path}: ")


def test_programs_are_found_where_an_ordinary_user_of_debian_does_not_look(monkeypatch):
    """And not in the current folder, which an empty word means there."""
    monkeypatch.setenv("PATH", ":/usr/bin::.:/sbin:")
    exit_code_of(lambda: None)
    assert os.environ["PATH"] == "/usr/bin:/sbin:/usr/local/sbin:/usr/sbin"


def parser() -> argparse.ArgumentParser:
    made = Parser(prog="python -m thing")
    command = made.add_subparsers(metavar="COMMAND").add_parser("add")
    command.add_argument("number", type=int)
    command.add_argument("--unit", choices=["metre", "foot"])
    command.set_defaults(run_command=lambda options: options.number + 1)
    return made


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("add 3 --unti=foot", "unrecognized arguments: --unti=foot\n  did you mean --unit?"),
        ("add 3 --unit fot", "'foot')\n  did you mean foot?"),
        ("ad 3", "(choose from 'add')\n  did you mean add?"),
        ("add 3 --nothing-like-it", "unrecognized arguments: --nothing-like-it"),
    ],
)
def test_a_misspelt_word_has_the_nearest_known_one_as_a_hint(words, hint, capsys):
    with pytest.raises(SystemExit, match="2"):
        run_command(parser(), words.split())
    assert capsys.readouterr().err.endswith(f"{hint}\n")


def test_without_a_command_it_shows_the_help(capsys):
    assert run_command(parser(), []) == 2
    assert "usage: python -m thing" in capsys.readouterr().err
