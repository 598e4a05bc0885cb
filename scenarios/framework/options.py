"""Axes and settings of a scenario, and the command-line options that change them."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flightpath.errors import UsageError
from results.records import ParameterValue
from topologies.links.texts import short_link


@dataclass(frozen=True)
class Axis:
    """A parameter that varies.

    Attributes:
        name: of the parameter.
        quick: its values in the quick form, and in the full form if `full` is None.
        full: its values in the full form.
        option: takes other values, separated by commas; none by default.
        help: what the values are.
        check: raises UsageError if it gets a value that makes no sense.
    """

    name: str
    quick: tuple[ParameterValue, ...]
    full: tuple[ParameterValue, ...] | None = None
    option: str = ""
    help: str = ""
    check: Callable[[Any], object] = lambda value: None

    def add_to(self, parser: ArgumentParser) -> None:
        """Adds the option, if there is one."""
        if self.option:
            texts = [",".join(map(str, values)) for values in (self.quick, self.full) if values is not None]
            words = f"{self.help} (default {'; full: '.join(texts)})".replace("%", "%%")
            parser.add_argument(self.option, metavar="A,B,...", help=words)

    def chosen(self, options: Namespace) -> tuple[ParameterValue, ...]:
        """The values.

        Raises:
            UsageError: one of them makes no sense.
        """
        values = self.full if options.form == "full" and self.full is not None else self.quick
        if self.option and (text := getattr(options, _destination(self.option))) is not None:
            values = comma_separated(text)
        for value in values:
            self.check(value)
        return values


@dataclass(frozen=True)
class Setting:
    """An option whose value becomes a setting of the plan.

    Attributes:
        option: for example `--seconds`.
        help: what it is.
        quick: its value in the quick form, and in the full form if `full` is None.
        full: its value in the full form.
        name: of the setting; that of the option by default.
        metavar: stands for the value in the help.
        check: raises UsageError if it gets a value that makes no sense.
    """

    option: str
    help: str
    quick: Any
    full: Any = None
    name: str = ""
    metavar: str | None = None
    check: Callable[[Any], object] = lambda value: None

    def add_to(self, parser: ArgumentParser) -> None:
        """Adds the option."""
        default = self.quick if self.full is None else None  # else it depends on the form
        texts = [str(value).removesuffix(".0") for value in (self.quick, self.full) if value is not None]
        words = f"{self.help} (default {'; full: '.join(texts)})".replace("%", "%%")
        parser.add_argument(self.option, type=type(self.quick), default=default, metavar=self.metavar, help=words)

    def chosen(self, options: Namespace) -> tuple[str, Any]:
        """The name of the setting, and its value.

        Raises:
            UsageError: the value makes no sense.
        """
        value = getattr(options, _destination(self.option))
        if value is None:
            value = self.full if options.form == "full" and self.full is not None else self.quick
        self.check(value)
        return self.name or _destination(self.option), value


CONGESTION_CONTROL = Setting("--congestion-control", "of all hosts", "cubic", metavar="NAME")


def link_setting(default: str, what: str) -> Setting:
    """The option `--link`; `what` says which links it describes."""
    metavar = "BANDWIDTH,DELAY[,QUEUE[,LOSS]]"
    return Setting("--link", f"{what}; the delay is one way", default, metavar=metavar, check=short_link)


def at_least(option: str, least: float) -> Callable[[float], None]:
    """A check for numbers."""

    def check(value: float) -> None:
        if not value >= least:
            raise UsageError(f"{option}: {value:g} is less than {least:g}")

    return check


def comma_separated(text: str) -> tuple[str, ...]:
    """The words of a list such as `cubic,bbr`."""
    return tuple(word for part in text.split(",") if (word := part.strip()))


def _destination(option: str) -> str:
    """The name that argparse gives to an option."""
    return option.removeprefix("--").replace("-", "_")
