"""Parameters of an experiment: axes, settings and factors, each with the option that changes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from flightpath.errors import UsageError
from results.records import ParameterValue
from topologies.links.fields import require_known
from topologies.links.texts import short_link

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class PlanRequest:
    """A user's wishes, before an experiment makes a plan of them.

    Attributes:
        form: `quick` or `full`.
        options: values of the experiment's own options, by `option_name`; a missing one or None means the default.
        repeat: measurements per point; None means the experiment's default.
        seed: for the order of the cells, and for whatever else is random.
        only: values of axes to which the plan is restricted.
        events: changes of links during the load, as `parse_events` reads them.
        captures: hosts and interfaces whose packets are kept.
        is_recorded: keep what happens to each packet on each link, for `flightpath watch`.
        emulator: for the links; `auto` is the first that works.
        datapath: for the switches; `auto` is the first that works.
    """

    form: str = "quick"
    options: Mapping[str, Any] = field(default_factory=dict)
    repeat: int | None = None
    seed: int = 1
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    events: tuple[str, ...] = ()
    captures: tuple[str, ...] = ()
    is_recorded: bool = False
    emulator: str = "auto"
    datapath: str = "auto"

    def option(self, option: str) -> Any:
        """Returns the value that was given for an option; None: its default."""
        return self.options.get(option_name(option))

    def of_form(self, quick: _Value, full: _Value | None) -> _Value:
        """Returns the default of this form; that of the quick form if the full one has none of its own."""
        return full if self.form == "full" and full is not None else quick


def option_name(option: str) -> str:
    """Returns the name of an option in a PlanRequest: `link_rate` for `--link-rate`."""
    return option.removeprefix("--").replace("-", "_")


@dataclass(frozen=True)
class Axis:
    """A parameter that varies.

    Attributes:
        quick: its values in the quick form, and in the full form if `full` is None.
        option: takes other values, separated by commas; none by default.
        read: reads one such value; raises UsageError if it makes no sense.
        parse: reads the whole text of the option, in place of `read`; raises UsageError if it makes no sense.
        check: raises UsageError if it gets a value that makes no sense.
    """

    name: str
    quick: tuple[ParameterValue, ...]
    full: tuple[ParameterValue, ...] | None = None
    option: str = ""
    help: str = ""
    check: Callable[[Any], object] = lambda value: None
    read: Callable[[str], ParameterValue] = str
    parse: Callable[[str], tuple[ParameterValue, ...]] | None = None

    def chosen(self, request: PlanRequest) -> tuple[ParameterValue, ...]:
        """Returns the values of a plan; raises UsageError if one of them makes no sense."""
        text = request.option(self.option) if self.option else None
        values = self.split(text) if text is not None else request.of_form(self.quick, self.full)
        for value in values:
            self.check(value)
        return values

    def split(self, text: str) -> tuple[ParameterValue, ...]:
        """Reads the values of an option."""
        return self.parse(text) if self.parse else tuple(map(self.read, comma_separated(text)))


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

    def chosen(self, request: PlanRequest) -> tuple[str, Any]:
        """Returns the name of the setting, and its value; raises UsageError if that makes no sense."""
        value = request.option(self.option)
        value = request.of_form(self.quick, self.full) if value is None else value
        return self.name or option_name(self.option), self.read(value)


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
        """Name of the setting, or of the axis."""
        return option_name(self.option)

    def chosen(self, request: PlanRequest) -> tuple[str, ...]:
        """Returns the values; raises UsageError if one of them makes no sense."""
        texts = request.option(self.option) or [self.default]
        values = tuple(dict.fromkeys(texts if self.has_commas else comma_separated(",".join(texts))))
        for value in values:
            self.check(value)
        return values


LIST = "A,B,..."
"""Placeholder in `--help` for the values of an option that takes several, and that may be repeated."""

CONGESTION_CONTROL = Setting("--congestion-control", "of all hosts", "cubic", metavar="NAME")


def link_setting(default: str, what: str) -> Setting:
    """Returns the option `--link`; `what` says which links it describes."""

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
    return partial(require_known, option, known=values)


def comma_separated(text: str) -> tuple[str, ...]:
    """Returns the words of a list such as `cubic,bbr`."""
    return tuple(word for part in text.split(",") if (word := part.strip()))
