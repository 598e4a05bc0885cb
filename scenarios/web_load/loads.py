"""The loads of a run and the results at each of them, for the claims of the experiment `mptcp_load`."""

from collections.abc import Iterable

from experiments.claims import Evidence, InsufficientData
from experiments.judging import growth
from results.statistics.estimates import Estimate

PAPER_LOAD_GROWTH = 60.0
"""Growth of the paper's load: ramps of 160 s to 100 s for 80 000 requests are 500 to 800 requests/s."""

LOAD_POINTS = 10.0
"""Tolerance of that growth, in percentage points, for a run that has the paper's loads."""


def advantage(evidence: Evidence, load: float) -> Estimate:
    """Returns by how many per cent MPTCP's throughput is above TCP's at a load.

    Raises:
        InsufficientData: one of both was not measured.
    """
    return growth(rates(evidence, "tcp", load), rates(evidence, "mptcp", load))


def extremes(evidence: Evidence, *protocols: str) -> tuple[float, float]:
    """Returns the lowest and the highest load in the paper's range at which all given protocols were measured.

    Raises:
        InsufficientData: one was not measured, or they are not as far apart as the paper's.
    """
    everywhere = in_paper_range({*loads(evidence, "tcp"), *loads(evidence, "mptcp")})
    common = in_paper_range(set.intersection(*(set(loads(evidence, protocol)) for protocol in protocols)))
    for protocol in protocols:
        _require_cells(evidence.where(protocol=protocol), protocol.upper())
        for load in (everywhere[0], everywhere[-1]):
            _require_cells(evidence.where(protocol=protocol, load=load), _point(protocol, load))
    grown = percent(common[-1] / common[0])
    if grown < PAPER_LOAD_GROWTH - LOAD_POINTS:
        raise InsufficientData(f"the load grows by {grown:.0f} % in this run, not by {PAPER_LOAD_GROWTH:.0f} %")
    return common[0], common[-1]


def in_paper_range(some: Iterable[float]) -> list[float]:
    """Returns the highest load, and those that are not farther below it than the paper's lowest."""
    some = list(some)
    least = max(some, default=0) / (1 + (PAPER_LOAD_GROWTH + LOAD_POINTS) / 100)
    return sorted(load for load in some if load >= least)


def papers_loads(evidence: Evidence) -> list[float]:
    """Returns the loads in the paper's range: the highest, and those not farther below it than the paper's lowest."""
    return in_paper_range(evidence.numbers("load"))


def loads_of_both(evidence: Evidence) -> list[float]:
    """Returns the loads at which both protocols were measured, lowest first.

    Raises:
        InsufficientData: there is none.
    """
    common = sorted(set(loads(evidence, "tcp")) & set(loads(evidence, "mptcp")))
    if not common:
        raise InsufficientData(evidence.why_empty if not evidence.cells else "no load was measured with both protocols")
    return common


def loads(evidence: Evidence, protocol: str) -> list[float]:
    """Returns the loads at which a protocol was measured."""
    return [float(load) for load in evidence.where(protocol=protocol).by("load")]


def rates(evidence: Evidence, protocol: str, load: float) -> list[float]:
    """Returns the requests per second of each run at a load.

    Raises:
        InsufficientData: there is none.
    """
    part = evidence.where(protocol=protocol, load=load)
    _require_cells(part, _point(protocol, load))
    return part.values("requests_per_s")


def percent(ratio: float) -> float:
    """Converts a ratio into a change in per cent."""
    return (ratio - 1) * 100


def _point(protocol: str, load: float) -> str:
    return f"{protocol.upper()} at {load:g} requests/s"


def _require_cells(evidence: Evidence, what: str) -> None:
    if not evidence.cells:
        raise InsufficientData(f"{what}: {evidence.why_empty}")
