"""The commands that the documents show exist, with the options that they show."""

import ast
import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from experiments import catalogue
from flightpath import cli
from flightpath.command_line import ListOption
from flightpath.project import PROJECT
from scenarios.command.options import parser_of
from tests.support.terminal import Terminal
from topologies.mininet import catalogue as networks

_spec = importlib.util.spec_from_file_location("reference", PROJECT / "docs/site/reference.py")
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

DOCUMENTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md"), PROJECT / "congestion/README.md"])


def shown(start: str) -> Iterator[tuple[str, list[str]]]:
    """All shell commands of all documents that begin with a word, without comments, `sudo` and variables."""
    for document in DOCUMENTS:
        blocks = re.findall(r"```sh\n(.*?)```", document.read_text(), re.DOTALL)
        for line in "".join(blocks).replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while words and (words[0] == "sudo" or "=" in words[0]):
                words.pop(0)
            if words[:1] == [start]:
                yield document.name, words


def unknown(words: list[str]) -> list[str]:
    """Words and options in a command of `flightpath` that it does not have."""
    if words[:2] == ["museum", "run"]:
        words = ["run", f"{words[2]}.toml", *words[3:]]
    name, *rest = words
    if name not in cli.COMMANDS:
        return [name]
    names = [word for (word,) in reference.subcommands(name)]
    if name == "run" and rest and not rest[0].startswith("-"):
        template = PROJECT / "experiments/files/template.toml"  # the documents make experiment files of it
        scenario = catalogue.load(template) if rest[0].endswith(".toml") else catalogue.find(rest[0])
        if scenario is None:
            return [rest[0]]
        parser = parser_of(scenario)
    elif names and name != "preflight" and rest[0] not in names:
        return [rest[0]]
    else:
        parser = reference.parser_behind([name, rest[0]] if rest and rest[0] in names else [name])
    own = rest[: rest.index("--")] if "--" in rest else rest
    options = [word.partition("=")[0] for word in own if re.match("--?[a-z]", word)]
    return [option for option in options if option not in parser._option_string_actions]


def test_the_commands_of_flightpath_exist():
    found = [(name, words[1:]) for name, words in shown("flightpath")]
    found += [(name, ["preflight", *words[1:]]) for name, words in shown("preflight")]
    found = [(name, words) for name, words in found if words and words[0] not in ("mn", "mn-run")]
    assert len(found) > 45
    assert not [(name, words, which) for name, words in found if (which := unknown(words))]


def test_no_command_is_advised_that_works_in_a_checkout_alone():
    floors = "|".join({command.module.partition(".")[0] for command in cli.COMMANDS.values()})
    internal = r"probes\.[jt]|scenarios\.(reproduction|league)|controllers\.app|topologies\.mininet|flightpath\.calls"
    advised = re.compile(rf"python3? -m (?!{internal})({floors})\b.*")
    sources = [file for floor in floors.split("|") for file in (PROJECT / floor).rglob("*.py")]
    assert len(sources) > 300
    assert not [(str(file), found[0]) for file in sources if (found := advised.search(file.read_text()))]
    assert not [words for _, words in (*shown("python3"), *shown("python")) if advised.match(shlex.join(words))]


def test_the_targets_of_make_exist():
    targets = set(re.findall(r"^([a-z_-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    asked = {(name, word) for name, words in shown("make") for word in words[1:] if re.fullmatch(r"[a-z_-]+", word)}
    assert len(asked) > 15
    assert not {(name, word) for name, word in asked if word not in targets}


def test_each_feature_is_proven_by_a_test_that_make_test_runs():
    """The table in CONTRIBUTING.md names every command, experiment and network, and tests that are there."""
    rows = re.findall(r"^\| (.*) \| `(\S+\.py)::(\w+)` \|$", (PROJECT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    features = set(re.findall(r"`([\w-]+)", " ".join(feature for feature, _, _ in rows)))
    sends_no_packet = {"completion", "machines"}
    assert {*cli.COMMANDS, *catalogue.names(), *networks.names()} - features == sends_no_packet
    for _, file, test in rows:
        tree = ast.parse((PROJECT / "tests/emulation" / file).read_text())
        marks = {each.name: each.decorator_list for each in tree.body if isinstance(each, ast.FunctionDef)}
        marks |= {"pytestmark": [each.value for each in tree.body if ast.unparse(each).startswith("pytestmark")]}
        assert test in marks, f"{file} has no {test}"
        for mark in (*marks[test], *marks["pytestmark"]):
            assert not ast.unparse(mark).startswith("pytest.mark.nightly"), test


@pytest.mark.parametrize("words", [["results", "lst"], ["run", "dtn_windows"], ["run", "dtn_window", "--windows", "3"]])
def test_what_does_not_exist_is_found(words):
    assert unknown(words)


def every_parser() -> Iterator[tuple[str, reference.ArgumentParser]]:
    """Yields each parser of `flightpath`, and of each scenario, with the words that lead to it."""
    for scenario in map(catalogue.find, catalogue.names()):
        yield scenario.name, parser_of(scenario)
    for name in cli.COMMANDS.keys() - {"mn", "mn-run"}:
        for words in [[name], *([name, *rest] for rest in reference.subcommands(name))]:
            yield " ".join(words), reference.parser_behind(words)


def test_options_that_take_lists_add_up():
    """Without that the second `--capture` replaces the first, silently."""
    seen = set()
    for command, parser in every_parser():
        for action in parser._actions:
            if action.option_strings and re.match("[A-Z]+,[A-Z]\\b", str(action.metavar)):
                assert isinstance(action, ListOption), f"{command} {action.option_strings}"
                seen.add(action.option_strings[-1])
    assert {"--capture", "--loads", "--algorithms", "--metrics"} <= seen
    options = parser_of(catalogue.find("mptcp_load")).parse_args(["--capture", "h1-eth0,h2", "--capture", "h1-eth1"])
    assert options.capture == "h1-eth0,h2,h1-eth1"


def test_no_option_is_explained_by_its_own_name():
    """`--pace PACE` tells nobody that a time is wanted."""
    kinds = {"EVENT", "FILE", "N", "PORT", "RATE", "SIZE", "TIME", "USER"}
    for name, parser in every_parser():
        for action in (action for action in parser._actions if action.option_strings and action.nargs != 0):
            shown = action.metavar or ("N" if action.choices else action.dest.upper())
            own = [option.lstrip("-").upper().replace("-", "_") for option in action.option_strings]
            assert shown in kinds or shown not in own, f"{name}: {action.option_strings[-1]} {shown}"


def test_help_fits_a_terminal_of_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    helps = {name: parser.format_help() for name, parser in every_parser()}
    helps |= {name: reference._printed_help(name) for name in ("mn", "mn-run")}
    assert len(helps) > 60
    for name, text in helps.items():
        assert not [f"{name}: {line}" for line in text.splitlines() if len(line) > 80]
        for line, following in pairwise(text.splitlines()):
            if line[:1].strip() and following[:1].strip():  # of one paragraph
                assert len(f"{line} {following.split()[0]}") > 78, f"{name}: {line}"


@pytest.mark.parametrize("words", [["run"], ["museum", "list"]])
def test_a_list_fits_a_terminal_of_80_columns(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with Terminal([str(Path(sys.executable).with_name("flightpath")), *words]) as terminal:
        shown = terminal.read_to_end()
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines()]
    assert len(lines) > 10 and max(map(len, lines)) <= 80, max(lines, key=len)
