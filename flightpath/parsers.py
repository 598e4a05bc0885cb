"""Parsers of command lines, with help that fits the terminal and errors that name the nearest known word."""

import argparse
import re
import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NoReturn

from flightpath.overrides import override
from flightpath.suggestions import nearest

_UNRECOGNIZED = "unrecognized arguments: "
_INVALID_CHOICE = re.compile(r"invalid choice: '(?P<word>.*?)' \(choose from (?P<known>.*)\)")

_COLUMNS = re.compile(r"(?P<entry> +\S.*?  +)(?P<text>\S.*)")
"""An indented line of two columns: an entry and its explanation, or a command and what it does."""

_COMMAND = re.compile(r" +(sudo |flightpath |preflight )")
_MIN_EXPLANATION = 24
"""Columns that an explanation needs; with fewer it goes to the next line."""

_NO_BREAK = "\N{NO-BREAK SPACE}"


class HelpFormatter(argparse.HelpFormatter):
    """Wraps paragraphs, and keeps indented lines that fit."""

    @override
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return textwrap.indent(fill(text, width), indent)


class Parser(argparse.ArgumentParser):
    """The parser of a command, and of its subcommands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": HelpFormatter, **settings})

    @override
    def error(self, message: str) -> NoReturn:
        unknown, known = message.removeprefix(_UNRECOGNIZED).split(), []
        if message.startswith(_UNRECOGNIZED):
            known = [text for each in _with_subparsers(self) for it in each._actions for text in it.option_strings]
        elif choice := _INVALID_CHOICE.search(message):
            unknown, known = [choice["word"]], re.split("[', ]+", choice["known"])
        near = [near for word in unknown if (near := nearest(word.partition("=")[0], known))]
        super().error(f"{message}\n  did you mean {', '.join(near)}?" if near else message)


def fill(text: str, width: int) -> str:
    """Wraps each paragraph of a text, and those indented lines that are too long.

    A line that is indented further than the one before continues it, unless that one ends in a colon.
    """
    lines: list[str] = []
    for is_paragraph, group in groupby(text.strip("\n").splitlines(), key=lambda line: line[:1] not in ("", " ")):
        if is_paragraph:
            lines += _wrapped(" ".join(group), width)
        else:
            for entry in _entries(group):
                lines += entry if all(len(line) <= width for line in entry) else _fitted(entry, width)
    return "\n".join(lines)


def _entries(lines: Iterator[str]) -> Iterator[list[str]]:
    """Yields each indented line with the lines that continue it, and each empty line."""
    entry: list[str] = []
    for line in lines:
        is_continuation = entry and entry[0] and not entry[0].endswith(":") and _indent(line) > _indent(entry[0])
        if is_continuation:
            entry.append(line)
            continue
        if entry:
            yield entry
        entry = [line]
    yield entry


def _fitted(entry: list[str], width: int) -> list[str]:
    """Wraps an entry: its explanation behind a hanging indent, or its command before options, by backslashes."""
    first, explanation = entry[0], " ".join(line.strip() for line in entry[1:])
    indent = " " * _indent(first)
    if columns := _COLUMNS.fullmatch(first):
        explanation, column = f"{columns['text']} {explanation}", len(columns["entry"])
        if column + _MIN_EXPLANATION <= width:
            return _wrapped(explanation, width, columns["entry"], " " * column)
        first = columns["entry"].rstrip()
    if _COMMAND.match(first):
        parts = _wrapped(first.replace(" ", _NO_BREAK).replace(f"{_NO_BREAK}--", " --"), width - 2, "", f"{indent}    ")
        command = " \\\n".join(parts).replace(_NO_BREAK, " ").splitlines()
        return [*command, *_wrapped(explanation, width, f"{indent}      ", f"{indent}      ")]
    return _wrapped(f"{first.strip()} {explanation}", width, indent, indent)


def _wrapped(text: str, width: int, first: str = "", following: str = "") -> list[str]:
    wrapper = textwrap.TextWrapper(width, first, following, break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _with_subparsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:  # argparse offers no public way
        if isinstance(action, argparse._SubParsersAction):
            for each in {id(it): it for it in action.choices.values()}.values():
                yield from _with_subparsers(each)
