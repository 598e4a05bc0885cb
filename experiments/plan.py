"""The plan of a run: which cells are measured, where, and by which clock."""

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from flightpath.clock import Clock
from flightpath.errors import UsageError
from results.records import Cell, ParameterValue
from topologies.links.events import LinkEvent, parse_events

MAX_CELLS = 100_000
"""Limit of a run's cells: they take weeks to measure, and seconds to list."""

_WERE_SETTINGS = {"machine": "executor", "clock": "clock", "scale": "scale"}
"""Fields that were settings in version 0.1.0, by their names there."""


def restrictions(pairs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the values allowed for each parameter, from several `--only KEY=VALUE`.

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
        form: `quick` or `full`; `cell` for one cell alone.
        axes: each parameter that varies, with its values.
        settings: whatever else shapes a measurement, the same for all cells (JSON values).
        executor: name of the executor that measures the cells.
        clock: by which the cells are measured.
        scale: factor of all bandwidths and offered loads.
        repeat: how often each point is measured.
        only: values of axes to which the plan is restricted.
        events: what happens to links during the load of each cell, as `parse_events` reads it.
    """

    form: str
    axes: Mapping[str, tuple[ParameterValue, ...]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    executor: str = "here"
    clock: Clock = Clock.REAL
    scale: float = 1.0
    repeat: int = 1
    seed: int = 1
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    events: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise UsageError(f"repeat: {self.repeat} is less than 1")
        count = self.repeat * max(1, math.prod(map(len, self.axes.values())))
        if count > MAX_CELLS:
            raise UsageError(
                f"{count:,} cells are too many: at most {MAX_CELLS:,}", "fewer values, or fewer repetitions"
            )
        for name, values in self.only.items():
            if name not in self.axes:
                raise UsageError(f"--only: there is no parameter {name!r}", f"parameters: {', '.join(self.axes)}")
            known = [str(value) for value in self.axes[name]]
            for value in values:
                if value not in known:
                    raise UsageError(f"--only: {name} has no value {value!r}", f"values: {', '.join(known)}")

    def cells(self) -> list[Cell]:
        """Returns all cells in the order in which they are measured.

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

    def of_cell(self, cell: Cell) -> "Plan":
        """Returns what of the plan concerns one cell: the same in every run in which that cell occurs.

        A cell that knew the whole plan would depend on it in virtual time: what lies in the memory of a process
        decides in which order it looks at things.
        """
        axes = {name: (cell.parameters[name],) for name in self.axes}
        return replace(self, form="cell", axes=axes, repeat=1, only={})

    def value(self, cell: Cell, factor: str) -> Any:
        """Returns the value of a factor for a cell: that of the axis, or the setting."""
        return cell.parameters[factor] if factor in self.axes else self.settings[factor]

    def link_events(self) -> list[LinkEvent]:
        """Returns the events, parsed."""
        return parse_events(self.events)

    def as_json(self) -> dict[str, Any]:
        """Returns the plan as JSON values, for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Plan":
        """Returns the plan that a run in the store was made with, by this version or an earlier one."""
        return TypeAdapter(cls).validate_python(_with_fields(stored))


def _with_fields(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """Moves what were settings in version 0.1.0 to the fields of today."""
    settings = stored.get("settings")
    if not isinstance(settings, Mapping):
        return stored
    fields = {new: settings[old] for old, new in _WERE_SETTINGS.items() if old in settings}
    if fields.get("executor") == "lab":
        fields["executor"] = "uml"
    others = {name: value for name, value in settings.items() if name not in _WERE_SETTINGS}
    return {**fields, **stored, "settings": others}
