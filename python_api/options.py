"""Options of a scenario from keyword arguments: `loads=[500, 800]` is `--loads 500,800`."""

import argparse
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from experiments.scenario import Scenario
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from scenarios.command.options import parser_of, request_of
from scenarios.command.runner import requested_plan

_COMMAND_ONLY = frozenset({"help", "json", "dry_run"})
"""Options that only make sense for a command that prints its result."""


def words_for(scenario: Scenario, options: Mapping[str, Any]) -> list[str]:
    """Converts options by name to words of a command line, and checks them as the command does.

    A list becomes the values of one option, or several options where it may be repeated; a mapping KEY=VALUE of such an
    option; True a flag. None and False leave the option out.

    Raises:
        UsageError: there is no such option, or its value is invalid.
    """
    parser = parser_of(scenario)
    texts = ((text, it) for it in parser._actions for text in it.option_strings)  # argparse offers no public way
    actions = {text[2:].replace("-", "_"): action for text, action in texts if text.startswith("--")}
    known = {name: action for name, action in actions.items() if name not in _COMMAND_ONLY}
    words: list[str] = []
    for name, value in options.items():
        if name not in known:
            raise UsageError(f"{scenario.name} has no option {name!r}", did_you_mean(name, sorted(known)))
        words += _words(known[name], name, value)
    parser.error = _refuse  # type: ignore[method-assign]  # argparse's only hook for an existing parser
    requested_plan(scenario, request_of(scenario, parser.parse_args(words)))
    return words


def _words(action: argparse.Action, name: str, value: Any) -> list[str]:
    option = action.option_strings[-1] if action.nargs != 0 else f"--{name.replace('_', '-')}"
    if value is None or value is False:
        return []
    if action.nargs == 0:
        if value is not True:
            raise UsageError(f"{name}: {value!r} is neither True nor False")
        return [option]
    if value is True:
        raise UsageError(f"{name}: True is no value", f"{option} {action.metavar or ''}: {action.help}".strip())
    # With `=`, or argparse would take a value such as -1 for an option.
    if isinstance(action, argparse._AppendAction):
        return [f"{option}={text}" for text in _several(value)]
    return [f"{option}={','.join(_several(value))}"]


def _several(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{key}={text}" for key, values in value.items() for text in _several(values)]
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [str(each) for each in value]
    return [str(value)]


def _refuse(message: str) -> NoReturn:
    raise UsageError(message)
