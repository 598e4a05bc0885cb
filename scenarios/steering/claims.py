"""What each steering policy is for, and whether it did it: a policy that cannot fail its claim would claim nothing."""

import statistics
from collections.abc import Sequence

from results.records import CellResult, Claim
from results.statistics.estimates import ratio_of_means, usable
from scenarios.framework.claims import NOTHING, Finding, Untestable, cells_note, claim
from topologies.links.spec import PAYLOAD_SHARE

GAIN_SHARE = 0.9
"""Of what the paths could carry together: what is left for headers, slow start and the weakest path's last packets."""

NO_GAIN = 1.1
FAST_RESTORED_MS = 1000.0
"""TCP's own way out of a dead path begins with a timeout of at least 200 ms that doubles each time."""


def claims(cells: Sequence[CellResult]) -> list[Claim]:
    """Every claim beside what these cells say to it."""
    note = cells_note(cells)
    believed = usable(cells)
    return [
        claim(
            "subflows over disjoint equal paths get the sum of them",
            f"at least {GAIN_SHARE:.0%} of the paths used",
            lambda: _sum_of_paths(believed),
            note,
        ),
        claim(
            "subflows that are all on one path gain nothing (control)",
            f"at most {NO_GAIN:g} times one path",
            lambda: _control(believed),
            note,
        ),
        claim(
            "knowing the connection beats hashing its subflows (ecmp)",
            "disjoint at least as fast, on equal paths",
            lambda: _against(believed, "disjoint", "ecmp", "mptcp"),
            note,
        ),
        claim(
            "single-path connections side by side are spread by least-loaded better than by one best path",
            "least-loaded faster than single, on equal paths",
            lambda: _against(believed, "least-loaded", "single", "tcp"),
            note,
        ),
        claim(
            "after a cut the controller moves the connection before TCP gives up on the path",
            f"silent for less than {FAST_RESTORED_MS:g} ms",
            lambda: _restored(believed, "silence_cut"),
            note,
        ),
        claim(
            "a black hole, which no switch reports, is found and left too",
            f"silent for less than {FAST_RESTORED_MS:g} ms",
            lambda: _restored(believed, "silence_black_hole"),
            note,
        ),
    ]


def _sum_of_paths(cells: Sequence[CellResult]) -> Finding:
    many = _values(cells, "goodput", paths="equal", policy="disjoint", protocol="mptcp", flows=4)
    possible = 4 * 20e6 * PAYLOAD_SHARE
    share = statistics.fmean(many) / possible
    return Finding.of(share >= GAIN_SHARE, f"{share:.1%} of four paths", f"{len(many)} cells with four subflows")


def _control(cells: Sequence[CellResult]) -> Finding:
    one = 20e6 * PAYLOAD_SHARE
    single = statistics.fmean(_values(cells, "goodput", paths="equal", policy="single", protocol="mptcp", flows=4))
    return Finding.of(single <= NO_GAIN * one, f"{single / one:.2f} times one path")


def _against(cells: Sequence[CellResult], policy: str, other: str, protocol: str) -> Finding:
    mine = _values(cells, "goodput", paths="equal", policy=policy, protocol=protocol, flows=4)
    theirs = _values(cells, "goodput", paths="equal", policy=other, protocol=protocol, flows=4)
    ratio = ratio_of_means(mine, theirs)
    bounds = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    holds = ratio.value >= 0.98 if other == "ecmp" else ratio.value > 1.1
    return Finding.of(holds, f"{ratio.value:.2f} times {other}{bounds}")


def _restored(cells: Sequence[CellResult], metric: str) -> Finding:
    steered = _values(cells, metric, policy="disjoint")
    unsteered = _values(cells, metric, policy="none", needed=False)
    beside = f"; without steering {max(unsteered):.0f} ms" if unsteered else ""
    worst = max(steered)
    return Finding.of(
        worst < FAST_RESTORED_MS,
        f"{statistics.median(steered):.0f} ms in the median, {worst:.0f} ms at worst{beside}",
        f"{len(steered)} cells of the policy disjoint, TCP and MPTCP",
    )


def _values(cells: Sequence[CellResult], metric: str, *, needed: bool = True, **parameters: object) -> list[float]:
    found = [
        cell.measurement.metrics[metric].value
        for cell in cells
        if metric in cell.measurement.metrics
        and all(cell.cell.parameters.get(name) == value for name, value in parameters.items())
    ]
    if needed and not found:
        raise Untestable(NOTHING)
    return found
