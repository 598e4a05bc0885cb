"""Files that students complete: settings, and commands for hosts."""

import re
import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

from flightpath.commands import CommandFailed
from flightpath.errors import MeasurementFailed
from labs.framework.lab import Work
from topologies.hosts.multihomed import MultihomedHost

_MAX_LINES = 50
_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text in quotation marks",
    bool: "true or false",
    list: "a list of numbers in brackets",
}


def text(work: Work, file: str) -> str:
    try:
        return (work.folder / file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MeasurementFailed(f"{file}: {error}") from error


def settings(work: Work, file: str, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Returns the settings in a student's TOML file.

    Args:
        kinds: the type of each setting's value: int, float (an int is one, too), str, bool, or list (of numbers).
    """
    try:
        given = tomllib.loads(text(work, file))
        for key, value in given.items():
            if key not in kinds:
                raise MeasurementFailed(f"{file}: {key} is unknown", f"known: {', '.join(kinds)}")
            if not _is(value, kinds[key]):
                raise MeasurementFailed(f"{file}: {key} = {value!r}: it must be {_WORDS[kinds[key]]}")
    except (ValueError, RecursionError) as error:
        raise MeasurementFailed(f"{file}: {error}") from error
    return given


def run_commands(work: Work, file: str, hosts: Mapping[str, MultihomedHost], allowed: str) -> None:
    """Runs the lines of a student's file, each of the form `HOST COMMAND`, in the hosts; `#` begins a comment.

    Args:
        allowed: the beginnings of commands that are allowed, as a regular expression: `ip route`.
    """
    form = re.compile(rf"({'|'.join(hosts)})\s+((?:{allowed})\s.*)")
    lines = text(work, file).splitlines()
    if len(lines) > _MAX_LINES:
        raise MeasurementFailed(f"{file} has more than {_MAX_LINES} lines")
    for number, line in enumerate(lines, start=1):
        stripped = line.partition("#")[0].strip()
        if not stripped:
            continue
        match = form.fullmatch(stripped)
        if match is None:
            raise MeasurementFailed(f"{file}, line {number}: not of the form `HOST {allowed} ...`: {stripped[:80]}")
        try:
            hosts[match[1]].run(shlex.split(match[2]), timeout_s=5)
        except (CommandFailed, ValueError) as error:
            raise MeasurementFailed(f"{file}, line {number}: {error}") from error


def _is(value: object, kind: type) -> bool:
    if kind is list:
        return isinstance(value, list) and all(_is(each, float) for each in value)
    if isinstance(value, (int, float)) and not -1e15 < value < 1e15:
        return False  # too large to be printed, infinite, or not a number
    return type(value) in ((int, float) if kind is float else (kind,))
