"""The plan of a run: the cells to measure and their settings, fixed before the run begins and stored with it."""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from flightpath.errors import UsageError
from results.records import Cell, ParameterValue
from topologies.links.events import LinkEvent


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
    """A scenario's cells: the product of its axes, repeated.

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
        for name, values in self.only.items():
            self._check_restriction(name, values)

    def cells(self) -> list[Cell]:
        """All cells in the order in which they are measured.

        Each repetition is a block with a shuffled order of its own: if the machine slows down during the run, this
        affects all values of a parameter alike.
        """
        points = [dict(zip(self.axes, values, strict=True)) for values in itertools.product(*self.axes.values())]
        wanted = [point for point in points if self._is_wanted(point)]
        order = random.Random(self.seed)
        return [
            Cell(point, repetition)
            for repetition in range(1, self.repeat + 1)
            for point in order.sample(wanted, len(wanted))
        ]

    def link_events(self) -> list[LinkEvent]:
        """The events, parsed."""
        return [LinkEvent.parse(text) for text in self.events]

    def with_axis(self, name: str, values: tuple[ParameterValue, ...]) -> "Plan":
        """This plan with other values for one parameter."""
        return replace(self, axes={**self.axes, name: values})

    def as_json(self) -> dict[str, Any]:
        """The plan as JSON values, for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Plan":
        """The plan that a run in the store was made with."""
        return cls(
            form=stored["form"],
            axes={name: tuple(values) for name, values in stored["axes"].items()},
            settings=stored["settings"],
            repeat=stored["repeat"],
            seed=stored["seed"],
            only={name: tuple(values) for name, values in stored["only"].items()},
            events=tuple(stored.get("events", ())),
        )

    def _is_wanted(self, point: Mapping[str, ParameterValue]) -> bool:
        return all(str(point[name]) in values for name, values in self.only.items())

    def _check_restriction(self, name: str, values: Sequence[str]) -> None:
        if name not in self.axes:
            raise UsageError(f"--only: there is no parameter {name!r}", f"parameters: {', '.join(self.axes)}")
        known = [str(value) for value in self.axes[name]]
        for value in values:
            if value not in known:
                raise UsageError(f"--only: {name} has no value {value!r}", f"values: {', '.join(known)}")
