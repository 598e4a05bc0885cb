"""The plan of a run: axes and settings, the options that change them, and the cells to measure."""

import itertools
import math
import random
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import TypeAdapter

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from results.records import Cell, ParameterValue
from topologies.links.events import LinkEvent
from topologies.links.texts import short_link

MOST_CELLS = 100_000
"""Of a run: weeks of measuring, and seconds to list."""


@dataclass(frozen=True)
class Axis:
    """A parameter that varies.

    Attributes:
        quick: its values in the quick form, and in the full form if `full` is None.
        option: takes other values, separated by commas; none by default.
        read: makes a value of such a word; raises UsageError if it makes no sense.
        check: raises UsageError if it gets a value that makes no sense.
    """

    name: str
    quick: tuple[ParameterValue, ...]
    full: tuple[ParameterValue, ...] | None = None
    option: str = ""
    help: str = ""
    check: Callable[[Any], object] = lambda value: None
    read: Callable[[str], ParameterValue] = str

    def add_to(self, parser: ArgumentParser) -> None:
        """Adds the option, if there is one."""
        if self.option:
            texts = [",".join(map(str, values)) for values in (self.quick, self.full) if values is not None]
            parser.add_argument(self.option, metavar="A,B,...", help=_help(self.help, texts))

    def chosen(self, options: Namespace) -> tuple[ParameterValue, ...]:
        """The values; raises UsageError if one of them makes no sense."""
        text = getattr(options, _destination(self.option)) if self.option else None
        values = tuple(map(self.read, comma_separated(text))) if text is not None else _of_form(self, options)
        for value in values:
            self.check(value)
        return values


@dataclass(frozen=True)
class Setting:
    """An option whose value becomes a setting of the plan.

    Attributes:
        quick: its value in the quick form, and in the full form if `full` is None.
        name: of the setting; that of the option by default.
        read: makes the setting of the value; raises UsageError if that makes no sense.
    """

    option: str
    help: str
    quick: Any
    full: Any = None
    name: str = ""
    metavar: str | None = None
    read: Callable[[Any], Any] = lambda value: value

    def add_to(self, parser: ArgumentParser) -> None:
        """Adds the option."""
        default = self.quick if self.full is None else None  # else it depends on the form
        texts = [str(value).removesuffix(".0") for value in (self.quick, self.full) if value is not None]
        words = _help(self.help, texts)
        parser.add_argument(self.option, type=type(self.quick), default=default, metavar=self.metavar, help=words)

    def chosen(self, options: Namespace) -> tuple[str, Any]:
        """The name of the setting, and its value; raises UsageError if that makes no sense."""
        destination = _destination(self.option)
        value = getattr(options, destination)
        return self.name or destination, self.read(_of_form(self, options) if value is None else value)


@dataclass(frozen=True)
class Factor:
    """A parameter that has one value as a rule: that is a setting of the plan. With several values it is an axis.

    The option may be repeated. Each time it takes one value, or several with commas if a value has none itself.

    Attributes:
        default: its one value.
        check: raises UsageError if it gets a value that makes no sense.
        has_commas: a value may have commas.
    """

    option: str
    help: str
    default: str
    metavar: str = "A[,B,...]"
    check: Callable[[str], object] = lambda value: None
    has_commas: bool = False

    @property
    def name(self) -> str:
        """Of the setting, or of the axis."""
        return _destination(self.option)

    def add_to(self, parser: ArgumentParser) -> None:
        """Adds the option."""
        words = _help(self.help, [self.default])
        parser.add_argument(self.option, action="append", metavar=self.metavar, help=words)

    def chosen(self, options: Namespace) -> tuple[str, ...]:
        """The values; raises UsageError if one of them makes no sense."""
        texts = getattr(options, self.name) or [self.default]
        values = tuple(dict.fromkeys(texts if self.has_commas else comma_separated(",".join(texts))))
        for value in values:
            self.check(value)
        return values


CONGESTION_CONTROL = Setting("--congestion-control", "of all hosts", "cubic", metavar="NAME")


def link_setting(default: str, what: str) -> Setting:
    """The option `--link`; `what` says which links it describes."""

    def checked(text: str) -> str:
        short_link(text)
        return text

    metavar = "BANDWIDTH,DELAY[,QUEUE[,LOSS]]"
    return Setting("--link", f"{what}; the delay is one way", default, metavar=metavar, read=checked)


def at_least(option: str, least: float) -> Callable[[float], float]:
    """Reads numbers from a least one on."""

    def checked(value: float) -> float:
        if not value >= least:
            raise UsageError(f"{option}: {value:g} is less than {least:g}")
        return value

    return checked


def one_of(option: str, values: Sequence[str]) -> Callable[[str], None]:
    """Refuses all but some words, and suggests the one that may be meant."""

    def check(value: str) -> None:
        if value not in values:
            raise UsageError(f"{option}: {value!r} is unknown", did_you_mean(value, values))

    return check


def comma_separated(text: str) -> tuple[str, ...]:
    """The words of a list such as `cubic,bbr`."""
    return tuple(word for part in text.split(",") if (word := part.strip()))


def restrictions(pairs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The values allowed for each parameter, from several `--only KEY=VALUE`.

    Raises:
        UsageError: a text has another form.
    """
    chosen: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals and value):
            raise UsageError(f"--only: cannot read {pair!r}", "accepted form: KEY=VALUE, for example protocol=mptcp")
        chosen[key] = (*chosen.get(key, ()), value)
    return chosen


@dataclass(frozen=True)
class Plan:
    """A scenario's cells: the product of its axes, repeated. It is fixed before the run begins, and stored with it.

    Attributes:
        form: `quick` or `full`.
        axes: each parameter that varies, with its values.
        settings: whatever else shapes a measurement, the same for all cells (JSON values).
        repeat: how often each point is measured.
        seed: for the order of the cells, and for whatever else is random in a scenario.
        only: values of axes to which the plan is restricted.
        events: what happens to links during the load of each cell, as `LinkEvent.parse` reads it.
    """

    form: str
    axes: Mapping[str, tuple[ParameterValue, ...]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    repeat: int = 1
    seed: int = 1
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    events: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise UsageError(f"repeat: {self.repeat} is less than 1")
        count = self.repeat * max(1, math.prod(map(len, self.axes.values())))
        if count > MOST_CELLS:
            raise UsageError(
                f"{count:,} cells are too many: at most {MOST_CELLS:,}", "fewer values, or fewer repetitions"
            )
        for name, values in self.only.items():
            if name not in self.axes:
                raise UsageError(f"--only: there is no parameter {name!r}", f"parameters: {', '.join(self.axes)}")
            known = [str(value) for value in self.axes[name]]
            for value in values:
                if value not in known:
                    raise UsageError(f"--only: {name} has no value {value!r}", f"values: {', '.join(known)}")

    def cells(self) -> list[Cell]:
        """All cells in the order in which they are measured.

        Each repetition is a block with a shuffled order of its own: if the machine slows down during the run, this
        affects all values of a parameter alike.
        """
        points = [dict(zip(self.axes, values, strict=True)) for values in itertools.product(*self.axes.values())]
        wanted = [point for point in points if all(str(point[name]) in self.only[name] for name in self.only)]
        order = random.Random(self.seed)
        return [
            Cell(point, repetition)
            for repetition in range(1, self.repeat + 1)
            for point in order.sample(wanted, len(wanted))
        ]

    def value(self, cell: Cell, factor: str) -> Any:
        """The value of a factor for a cell: that of the axis, or the setting."""
        return cell.parameters[factor] if factor in self.axes else self.settings[factor]

    def link_events(self) -> list[LinkEvent]:
        """The events, parsed."""
        return [LinkEvent.parse(text) for text in self.events]

    def as_json(self) -> dict[str, Any]:
        """The plan as JSON values, for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Plan":
        """The plan that a run in the store was made with."""
        return TypeAdapter(cls).validate_python(stored)


def _of_form(option: Axis | Setting, options: Namespace) -> Any:
    return option.full if options.form == "full" and option.full is not None else option.quick


def _help(what: str, defaults: Sequence[str]) -> str:
    return f"{what} (default {'; full: '.join(defaults)})".replace("%", "%%")


def _destination(option: str) -> str:
    """The name that argparse gives to an option."""
    return option.removeprefix("--").replace("-", "_")
