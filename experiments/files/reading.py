"""Reading an experiment file: TOML, with the line of whatever makes no sense, and parameters in its texts."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.files.keys import Where, read_table
from experiments.files.tables import Experiment
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from results.records import ParameterValue

_PLACEHOLDER = re.compile(r"\{\{|\}\}|(?<!\$)\{([a-z][a-z0-9_.-]*)\}")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*([A-Za-z0-9_-]+|"[^"]+"|'[^']+')\s*(?:=|\.)""")
_AT_LINE = re.compile(r"(.*) \(at line (\d+), column \d+\)")
_WITHOUT_PARAMETERS = ("parameters", "expect", "report")
"""Tables whose texts are taken as they are."""


def read(file: Path) -> tuple[str, dict[str, Any]]:
    """Returns the text of a file, and what it has, as JSON values.

    Raises:
        UsageError: it cannot be read, or is not TOML; with file and line.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise UsageError(f"cannot read {file}: {reason}", "flightpath new experiment writes one") from error
    try:
        content = tomllib.loads(text)
        json.dumps(content)
    except (ValueError, RecursionError) as error:
        where = _AT_LINE.fullmatch(str(error))
        place, message = (f"{file}:{where[2]}", where[1]) if where else (str(file), str(error))
        raise UsageError(f"{place}: {message}", "see https://toml.io for the syntax") from error
    except TypeError as error:
        raise UsageError(f"{file}: dates and times have no meaning here", "write them as texts") from error
    return text, content


def experiment(content: Mapping[str, Any], parameters: Mapping[str, ParameterValue]) -> Experiment:
    """Returns the experiment of a cell: the content of a file with the values of its parameters.

    Raises:
        InvalidKey: a key or value makes no sense.
    """
    return read_table(
        Experiment,
        {
            name: value if name in _WITHOUT_PARAMETERS else with_parameters(value, parameters)
            for name, value in content.items()
        },
    )


def first_values(content: Mapping[str, Any]) -> dict[str, ParameterValue]:
    """Returns the first value of each parameter of a file that may make no sense."""
    given = content.get("parameters")
    lists = given.items() if isinstance(given, Mapping) else ()
    return {name: values[0] for name, values in lists if isinstance(values, list) and values}


def with_parameters(value: Any, parameters: Mapping[str, ParameterValue]) -> Any:
    """Puts the values of parameters into all texts of a value; other names in braces stay as they are."""
    if isinstance(value, Mapping):
        return {name: with_parameters(each, parameters) for name, each in value.items()}
    if isinstance(value, list):
        return [with_parameters(each, parameters) for each in value]
    if not isinstance(value, str):
        return value
    if value[1:-1] in parameters and value == f"{{{value[1:-1]}}}":
        return parameters[value[1:-1]]  # a number stays one
    return _replaced(value, lambda name, whole: str(parameters[name]) if name in parameters else whole)


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Puts the values of all names in braces into a text, and makes one brace of two.

    Raises:
        UsageError: there is no such name.
    """

    def value(name: str, whole: str) -> str:
        if name not in names:
            message = f"there is no host, interface or parameter {name!r}"
            raise UsageError(message, did_you_mean(name, names) + "; two braces stand for one: {{")
        return names[name]

    return _replaced(text, value).replace("{{", "{").replace("}}", "}")


def _replaced(text: str, value: Callable[[str, str], str]) -> str:
    return _PLACEHOLDER.sub(lambda match: value(match[1], match[0]) if match[1] else match[0], text)


def line_of(text: str, where: Where) -> int:
    """Returns the line of a key in TOML, or of the innermost table around it that has a line of its own."""
    best, depth = 1, 0
    table: Where = ()
    counts: dict[str, int] = {}
    for number, content in enumerate(_without_long_texts(text).splitlines(), start=1):
        if header := _HEADER.fullmatch(content):
            name = header[2]
            counts[name] = counts.get(name, -1) + 1
            table = (*name.split("."), *([counts[name]] if header[1] == "[[" else []))
            at = table
        elif key := _KEY.match(content):
            at = (*table, key[1].strip("\"'"))
        else:
            continue
        if at == where[: len(at)] and len(at) > depth:
            best, depth = number, len(at)
    return best


def _without_long_texts(text: str) -> str:
    """Returns TOML without what is in texts of several lines, whose lines stay."""
    long_text = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'', re.DOTALL)
    return long_text.sub(lambda match: "\n" * match[0].count("\n"), text)
