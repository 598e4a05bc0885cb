"""Options in a file, for studies of many parameters."""

import argparse
import tomllib
from collections.abc import Iterator
from pathlib import Path

from flightpath.command_line import ListOption
from flightpath.errors import UsageError
from flightpath.overrides import override
from flightpath.suggestions import did_you_mean

_NOT_IN_FILES = {"--help", "--study"}


class StudyOption(argparse.Action):
    """`--study FILE`: takes further options of the command from a TOML file, as if they stood there.

    Each key is an option without its dashes. A list stands for several values.
    """

    @override
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: object = None
    ) -> None:
        file = Path(str(values))
        try:
            given = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"--study: cannot read {file}: {error.strerror}") from error
        except ValueError as error:  # no TOML, or no text
            raise UsageError(f"--study: {file}: {error}", 'a line is page-weight = ["2k", "11k"]') from error
        actions = parser._option_string_actions  # argparse has no other list of them
        words = [word for key, value in given.items() for word in _words(f"{file}: {key}", f"--{key}", value, actions)]
        parser.parse_args(words, namespace)
        setattr(namespace, self.dest, file)


def _words(where: str, option: str, value: object, actions: dict[str, argparse.Action]) -> Iterator[str]:
    """Yields the words of a command line that a key and its value stand for."""
    action = actions.get(option)
    if action is None or option in _NOT_IN_FILES:
        known = sorted(name[2:] for name in set(actions) - _NOT_IN_FILES if name.startswith("--"))
        raise UsageError(f"--study: {where}: there is no such option", did_you_mean(option[2:], known))
    is_switch = action.nargs == 0
    if is_switch != isinstance(value, bool):
        wanted = "true or false" if is_switch else "a text or a number"
        raise UsageError(f"--study: {where}: {wanted} is wanted")
    if is_switch:
        yield from [option] if value else []
        return
    several = value if isinstance(value, list) else [value]
    if any(isinstance(each, bool | list | dict) for each in several) or not several:
        raise UsageError(f"--study: {where}: a text, a number, or a list of them is wanted")
    if len(several) > 1 and not isinstance(action, ListOption | argparse._AppendAction):
        raise UsageError(f"--study: {where}: {option} takes one value")
    yield from (f"{option}={each}" for each in several)
