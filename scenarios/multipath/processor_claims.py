"""The claims of Szilágyi and Bordán (2020) about processor time, which all need the real clock.

The paper does not say which of its machines it watched. Here sender and receiver are told apart, and the emulated links
do the work of both hosts' kernels for packets that arrive. So a claim must hold for the sender, the receiver, and all.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise, product

from experiments.claims import ClaimCheck, Evidence, InsufficientData
from experiments.judging import ABOUT_PERCENT, ALIKE, LESS, MORE, Found, change, claim, found, growth, sample
from results.records import CellResult
from results.statistics.estimates import Estimate
from scenarios.multipath.multipath import PROCESSOR_TIMES
from scenarios.multipath.quadpath_cases import ALL_BUT_VEGAS, PATHS, against_each, cells_of

_DRAWN6 = ("mptcp6", "tun6_path6")
"""The configurations whose processor time the paper draws, in Figures 5 to 7."""


def processor_claims() -> Iterable[ClaimCheck]:
    """Yields the claims about processor time, which the paper compares over IPv6, by iperf3."""
    yield claim(
        "MPTCP takes less processor time than MPT-GRE",
        "MPT-GRE more, with every algorithm but Vegas, over IPv6",
        partial(_costs, algorithms=ALL_BUT_VEGAS),
        MORE,
        needs_real_clock=True,
    )
    yield claim(
        "with Vegas MPTCP and MPT-GRE take the same processor time",
        f"within {ABOUT_PERCENT:g} %, over IPv6",
        partial(_costs, algorithms=("vegas",)),
        ALIKE,
        needs_real_clock=True,
    )
    yield claim(
        "cubic takes the least processor time",
        "per Gbit/s, less than every other algorithm, with MPTCP and MPT-GRE over IPv6",
        partial(against_each, algorithm="cubic", configurations=_DRAWN6, metric="cpu_per_gbps"),
        LESS,
        needs_real_clock=True,
    )
    yield claim(
        "with Vegas the processor time of MPT-GRE oscillates, over IPv6",
        "changes from second to second larger than with MPTCP",
        lambda evidence: {"": found(lambda: _oscillation(evidence))},
        MORE,
        needs_real_clock=True,
    )
    # "The almost linear increase of CPU utilization with the number of interfaces and paths used".
    sentence = "processor time increases with the number of paths"
    yield claim(
        sentence,
        "more over four than over one, with cubic over IPv6",
        _from_one_path_to_all,
        MORE,
        needs_real_clock=True,
    )
    yield claim(
        f"{sentence}: almost linearly",
        f"within {ABOUT_PERCENT:g} % of a straight line from one path to four",
        _off_the_line,
        ALIKE,
        needs_real_clock=True,
    )


def _costs(evidence: Evidence, algorithms: Sequence[str]) -> dict[str, Found]:
    """Returns the change of the processor time from MPTCP to the tunnel, by algorithm and by what is counted."""
    return {
        f"{name}, {counted}": change(evidence, metric, *(cells_of(configuration, name) for configuration in _DRAWN6))
        for name, (counted, metric) in product(algorithms, PROCESSOR_TIMES.items())
    }


def _from_one_path_to_all(evidence: Evidence) -> dict[str, Found]:
    return {
        f"{name}, {counted}": change(evidence, metric, cells_of(name, "cubic", 1), cells_of(name, "cubic", PATHS))
        for name, (counted, metric) in product(_DRAWN6, PROCESSOR_TIMES.items())
    }


def _off_the_line(evidence: Evidence) -> dict[str, Found]:
    """Returns the distance of the processor time over two and three paths from the line through one and four."""
    return {
        f"{paths} paths, {name}, {counted}": found(partial(_distance, evidence, metric, name, paths))
        for name, paths, (counted, metric) in product(_DRAWN6, range(2, PATHS), PROCESSOR_TIMES.items())
    }


def _distance(evidence: Evidence, metric: str, configuration: str, paths: int) -> Estimate:
    first, here, last = (
        sample(evidence, metric, cells_of(configuration, "cubic", number)) for number in (1, paths, PATHS)
    )
    share = (paths - 1) / (PATHS - 1)
    line = [one + share * (all_paths - one) for one, all_paths in zip(first, last, strict=False)]
    return growth(line, here)


def _oscillation(evidence: Evidence) -> Estimate:
    """Returns the growth, from MPTCP to the tunnel, of the load's changes from second to second."""
    samples = []
    for configuration in _DRAWN6:
        cells = evidence.where(**cells_of(configuration, "vegas")).cells
        samples.append(values := [value for cell in cells if (value := _mean_change(cell)) is not None])
        if not values:
            raise InsufficientData(f"configuration={configuration} congestion_control=vegas was not measured")
    return growth(*samples)


def _mean_change(cell: CellResult) -> float | None:
    """Returns the mean change of the busy share between two samples, which a single step of the load changes little."""
    busy = cell.measurement.series.get("busy_iperf3")
    if busy is None or len(busy.values) < 2:
        return None
    changes = [abs(after - before) for before, after in pairwise(busy.values)]
    return sum(changes) / len(changes)
