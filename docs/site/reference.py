"""The reference pages, made from the code before each build: every command with its options, and every scenario."""

import os
import subprocess
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from experiments import catalogue
from experiments.scenario import Scenario
from flightpath import cli
from probes.preflight.__main__ import QUERIES
from scenarios.command.options import parser_of

_COLUMNS = "96"
_NOTE = "% Made from the code by docs/site/reference.py at each build."


class _Found(Exception):
    """The parser with which a command would have read its words."""

    def __init__(self, parser: ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "docs" / "reference"))
    return {"parallel_read_safe": True}


def write(folder: Path) -> None:
    """Writes the pages into a folder, which is made if it is not there."""
    folder.mkdir(exist_ok=True)
    with mock.patch.dict(os.environ, COLUMNS=_COLUMNS):
        pages = {"commands": commands_page(), "scenarios": scenarios_page(), "python": python_page()}
    for name, lines in pages.items():
        (folder / f"{name}.md").write_text("\n".join([_NOTE, *lines]) + "\n")


def commands_page() -> Iterator[str]:
    """Every command and its subcommands, with the text of `--help`."""
    yield "# Commands"
    yield "\nEach command of `flightpath` is also a module, `python3 -m …`, with the same options.\n"
    for name, command in cli.COMMANDS.items():
        yield f"- [flightpath {name}](#flightpath-{name}): {command.summary}"
    for name in cli.COMMANDS:
        yield f"\n## flightpath {name}\n"
        yield from _block(_printed_help(name) if name in ("mn", "mn-run") else parser_behind([name]).format_help())
        for words in subcommands(name):
            yield f"\n### flightpath {' '.join([name, *words])}\n"
            yield from _block(parser_behind([name, *words]).format_help())


def scenarios_page() -> Iterator[str]:
    """Every scenario: the question, what varies, the claims that it judges, and its options."""
    yield "# Scenarios"
    yield "\n`flightpath run NAME` measures one. What they found is in [findings](../findings.md).\n"
    scenarios = [catalogue.find(name) for name in catalogue.names()]
    for scenario in scenarios:
        yield f"- [{scenario.name}](#{scenario.name}): {scenario.summary}"
    for scenario in scenarios:
        yield from _scenario(scenario)


def python_page() -> Iterator[str]:
    """The public face of the package, from its docstrings."""
    yield "# Python"
    yield "\nWhat `import flightpath` offers; [how to use it](../python.md).\n"
    yield "```{eval-rst}"
    for name in ("run", "load"):
        yield f".. autofunction:: flightpath.{name}\n"
    for name in ("Run", "Network", "Program"):
        yield f".. autoclass:: flightpath.{name}\n   :members:\n"
    yield "```"


def parser_behind(words: Sequence[str]) -> ArgumentParser:
    """The parser of a command of `flightpath`, or of one of its subcommands."""
    command, (name, *subcommand) = cli.COMMANDS[words[0]], words
    with (
        mock.patch.object(ArgumentParser, "parse_args", _stop),
        mock.patch.object(ArgumentParser, "parse_known_args", _stop),
    ):
        asked = subcommand if name == "preflight" else []
        parser = _parser_of_main(command, name, [*asked, "--help"])
    for word in [] if asked else [*command.words, *subcommand]:
        parser = _choices(parser)[word]
    return parser


def _parser_of_main(command: cli.Command, name: str, words: Sequence[str]) -> ArgumentParser:
    module = __import__(command.module, fromlist=["main"])
    try:
        module.main(words, prog=f"flightpath {name}" if not command.words else "flightpath")
    except _Found as found:
        return found.parser
    raise AssertionError(f"{command.module} has parsed nothing")


def _stop(parser: ArgumentParser, *_: object) -> None:
    raise _Found(parser)


def subcommands(name: str) -> list[list[str]]:
    """The words after a command that name its subcommands."""
    if name == "preflight":
        return [[query] for query in (*QUERIES, "--from")]
    if name == "mn" or cli.COMMANDS[name].words:
        return []
    return [[word] for word in _choices(parser_behind([name]))]


def _choices(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    return next((dict(action.choices) for action in parser._actions if isinstance(action, _SubParsersAction)), {})


def _printed_help(name: str) -> str:
    """The help of a command that has no parser to ask: Mininet's own command writes that of `mn`."""
    argv = [Path(sys.executable).with_name("flightpath"), name, "--help"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def _scenario(scenario: Scenario) -> Iterator[str]:
    yield f"\n## {scenario.name}\n\n{scenario.summary}\n"
    if scenario.axes:
        yield "| what varies | quick | full |\n| --- | --- | --- |"
        for axis in scenario.axes:
            full = axis.quick if axis.full is None else axis.full
            yield f"| `{axis.name}` | {_values(axis.quick)} | {_values(full)} |"
    if scenario.claims:
        yield "\n| claim | expected | clock |\n| --- | --- | --- |"
        for claim in scenario.claims:
            clock = "real" if claim.needs_real_clock else "either"
            yield f"| {_cell(claim.claim)} | {_cell(claim.expected)} | {clock} |"
    yield ""
    yield from _block(parser_of(scenario, f"flightpath run {scenario.name}").format_help())


def _values(values: Sequence[object]) -> str:
    return _cell(", ".join(map(str, values)))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _block(text: str) -> Iterator[str]:
    yield from ("```text", text.rstrip(), "```")
