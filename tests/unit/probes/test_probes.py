"""Every probe has the shape that `probes.probe` describes."""

import dataclasses
import importlib
import inspect
import pkgutil
import typing
from itertools import pairwise

import pytest

import probes
from probes.probe import Probe
from probes.transfers.iperf3 import between_crests
from results.records import Measurement


def modules() -> list[str]:
    """All modules of the floor, but those of preflight itself, and programs that run in hosts."""
    names = [module.name for module in pkgutil.walk_packages(probes.__path__, "probes.") if not module.ispkg]
    return [name for name in names if not name.startswith(("probes.preflight.", "probes.transfers.programs."))]


def kinds() -> list[type]:
    for name in modules():
        importlib.import_module(name)
    return sorted(Probe.__subclasses__(), key=lambda kind: kind.__name__)


def test_every_probe_is_found():
    assert {kind.__name__ for kind in kinds()} >= {"JMeterLoad", "SftpTransfer"}
    transfers = {kind.__module__ for kind in kinds() if kind.__module__.startswith("probes.transfers.")}
    assert transfers == {name for name in modules() if name.startswith("probes.transfers.")}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_a_probe_is_a_frozen_specification_whose_run_has_a_measurement(kind):
    assert dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen
    parameters = list(inspect.signature(kind.run).parameters.values())
    assert [parameter.name for parameter in parameters[:3]] == ["self", "host", "address"]
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters[3:])
    assert "watch" in [parameter.name for parameter in parameters[3:]]
    returned = typing.get_type_hints(kind.run)["return"]
    if returned is not Measurement:
        assert typing.get_type_hints(returned.measurement)["return"] is Measurement


RATE = 362.5e6


def counts(*held_bits: float, interval_s: float = 0.1) -> list[tuple[float, float, float]]:
    """Intervals of a path that carries RATE all the time; so many bits are held back at each of their boundaries."""
    return [
        (at * interval_s, (at + 1) * interval_s, RATE * interval_s + before - after)
        for at, (before, after) in enumerate(pairwise(held_bits))
    ]


def naive(intervals: list[tuple[float, float, float]]) -> float:
    return sum(bits for _, _, bits in intervals) / (intervals[-1][1] - intervals[0][0])


NOTHING = (0.0,) * 31


@pytest.mark.parametrize(
    ("held", "mistake"),
    [
        (NOTHING, 1.0),
        ((40e6, 40e6, 40e6, *NOTHING[3:]), 1.03),
        ((*NOTHING[3:], 40e6, 40e6, 40e6), 0.97),
        ((0.0, *(30e6 if at % 7 == 3 else 0.0 for at in range(29)), 0.0), 1.0),
    ],
    ids=["nothing", "at the beginning", "at the end", "between"],
)
def test_what_was_held_back_at_an_end_does_not_count(held, mistake):
    intervals = counts(*held)
    assert naive(intervals) == pytest.approx(RATE * mistake, rel=0.01)
    assert between_crests(intervals) == pytest.approx(RATE, rel=1e-6)


def test_a_rate_that_grows_is_that_of_the_whole_time_and_few_intervals_are_too():
    growing = [(0.1 * at, 0.1 * (at + 1), 1e6 * at) for at in range(30)]
    assert between_crests(growing) == pytest.approx(naive(growing))
    assert between_crests([(0.0, 0.5, 1e6), (0.5, 1.0, 3e6)]) == 4e6
    assert between_crests([(0.0, 1.0, 5e6)]) == 5e6
