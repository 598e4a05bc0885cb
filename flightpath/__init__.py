"""The Python API, and the ground floor: modules that every other floor imports.

    import flightpath

    run = flightpath.run("multipath_unequal", clock="virtual", repeat=1)     # measure a scenario
    run = flightpath.load("latest")                                           # or load a run that is stored
    run.cells, run.series, run.claims                                         # data frames of pandas

    with flightpath.Network("dtn_pair", link="bw=50 delay=5ms") as net:       # a network to work in
        print(net.ping("dtn1", "dtn2").metrics["rtt"])

The names in `__all__` are stable: CHANGELOG.md mentions every change. Each is loaded on first use, because its module
is on a higher floor; importing a module of the ground floor loads none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flightpath.errors import (
        FlightpathError,
        MeasurementFailed,
        MissingCapability,
        UntrustworthyResult,
        UntrustworthyWarning,
        UsageError,
    )
    from python_api.network import Network, Program
    from python_api.running import run
    from python_api.runs import Run, load

_HOMES = {
    "Network": "python_api.network",
    "Program": "python_api.network",
    "Run": "python_api.runs",
    "load": "python_api.runs",
    "run": "python_api.running",
    "FlightpathError": "flightpath.errors",
    "MeasurementFailed": "flightpath.errors",
    "MissingCapability": "flightpath.errors",
    "UntrustworthyResult": "flightpath.errors",
    "UntrustworthyWarning": "flightpath.errors",
    "UsageError": "flightpath.errors",
}
"""Modules of the names, as text: imports would point up."""

__all__ = [
    "FlightpathError",
    "MeasurementFailed",
    "MissingCapability",
    "Network",
    "Program",
    "Run",
    "UntrustworthyResult",
    "UntrustworthyWarning",
    "UsageError",
    "load",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
