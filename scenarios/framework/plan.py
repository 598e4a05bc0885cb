"""What a run will do, fixed before it begins: without it a resumed run could mix two experiments."""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from flightpath.errors import UsageError
from results.records import Cell, ParameterValue


def restrictions(pairs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`--only KEY=VALUE`, several times, as the values allowed for each key."""
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
        settings: everything else that shapes a measurement, the same for all cells (JSON values).
        repeat: how often each point is measured.
        seed: of the order of the cells, and of whatever a scenario draws.
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

        Each repetition is a block of its own with a shuffled order, so that a machine that slows down meanwhile does
        not slow down one value of a parameter more than another.
        """
        points = [dict(zip(self.axes, values, strict=True)) for values in itertools.product(*self.axes.values())]
        wanted = [point for point in points if self._is_wanted(point)]
        order = random.Random(self.seed)
        return [
            Cell(point, repetition)
            for repetition in range(1, self.repeat + 1)
            for point in order.sample(wanted, len(wanted))
        ]

    def with_axis(self, name: str, values: tuple[ParameterValue, ...]) -> "Plan":
        """The same plan with other values of one parameter."""
        return replace(self, axes={**self.axes, name: values})

    def as_json(self) -> dict[str, Any]:
        """The plan as JSON values, from which `from_json` makes it again."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Plan":
        """The plan of a run in the store."""
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
