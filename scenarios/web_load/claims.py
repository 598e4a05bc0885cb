"""The claims of the MPTCP load paper (Hou et al. 2020), judged: without them a run ends in figures, not answers.

Everything is derived from stored cells alone; their parameters are `protocol` (`tcp`, `mptcp`) and `load` (offered
requests per second). How a claim is judged: `scenarios.framework.claims`.

A claim about "the least" or "the highest" load is tested only if the run's loads are as far apart as the paper's.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.records import CellResult, Claim, ClaimVerdict
from results.statistics.estimates import growth_percent, usable
from scenarios.framework.claims import (
    NOTHING,
    TOLERANCE_POINTS,
    Finding,
    Untestable,
    cells_note,
    claim,
    judged_percent,
    percent_text,
    refuse_vague,
)

PAPER_MPTCP_GROWTH = 50.0
PAPER_TCP_GROWTH = 16.0
PAPER_ADVANTAGE = 45.0
PAPER_LOAD_GROWTH = 60.0
"""Ramps from 160 s to 100 s for the same 80 000 requests: 500 to 800 requests/s."""

LITTLE_PERCENT = 15.0
"""What "not much different" may be: the paper's other three figures put it at 1.45 x 1.16 / 1.50 = +12 %."""

LATE_SHARE, LATE_S = 0.05, 1.0
"""How late a run may end and still follow its schedule ("almost immediately"): 5 % of it, or one second if more.

The second is for quick runs, where a single retransmission timeout would be 5 % of a ramp.
"""

ERRORS_APPEAR_PERCENT = 0.1
"""Below one request in a thousand, errors have not "appeared": the paper plots them in per cent of all requests."""

RISING_RANK = 0.5
"""Spearman's rank correlation of error rate and load from which errors "grow with load", wobbles allowed."""


@dataclass(frozen=True)
class _Run:
    """The believable cells by protocol and load, and how they were come by."""

    by_protocol: Mapping[str, Mapping[float, Sequence[CellResult]]]
    form: str

    def loads(self, *protocols: str) -> list[float]:
        """The loads at which every one of some protocols was measured."""
        return sorted(set.intersection(*(set(self.by_protocol[protocol]) for protocol in protocols)))

    def values(self, metric: str, protocol: str, load: float) -> list[float]:
        """A metric's repetitions."""
        cells = self.by_protocol[protocol].get(load, ())
        return [cell.measurement.metrics[metric].value for cell in cells if metric in cell.measurement.metrics]

    def mean(self, metric: str, protocol: str, load: float) -> float:
        """A metric's mean; raises `Untestable` if nobody measured it."""
        if not (values := self.values(metric, protocol, load)):
            raise Untestable(f"no {metric} was measured for {protocol} at {load:g}/s")
        return statistics.fmean(values)


def claims(cells: Sequence[CellResult], form: str) -> list[Claim]:
    """Every claim of the paper beside what these cells say to it.

    Args:
        cells: the cells of one run.
        form: `quick` or `full`; in the quick form, no errors may only mean that nothing lasted long enough to fail.
    """
    run = _Run({protocol: _by_load(cells, protocol) for protocol in ("tcp", "mptcp")}, form)
    note = cells_note(cells)
    return [
        claim(
            "MPTCP's throughput grows by half from the least to the highest load",
            "+50 %",
            lambda: _growth(run, "mptcp", PAPER_MPTCP_GROWTH),
            note,
        ),
        claim(
            "TCP's throughput grows little from the least to the highest load",
            "+16 %",
            lambda: _growth(run, "tcp", PAPER_TCP_GROWTH),
            note,
        ),
        claim("with MPTCP no request fails at any load", "0 errors", lambda: _no_errors(run), note),
        claim(
            "with TCP requests fail, and the more the higher the load",
            "errors that grow with load",
            lambda: _errors_grow(run),
            note,
        ),
        claim(
            "the run time follows the ramp with MPTCP only",
            "MPTCP ends with the ramp at every load, TCP later",
            lambda: _run_time(run),
            note,
        ),
        claim(
            "at the highest load MPTCP's throughput is well above TCP's", "+45 %", lambda: _advantage_at_most(run), note
        ),
        claim(
            "at low load MPTCP and TCP differ little",
            "not much different (+12 % by the paper's other figures)",
            lambda: _little_at_least(run),
            note,
        ),
    ]


def _growth(run: _Run, protocol: str, paper: float) -> Finding:
    least, most = _extremes(run, protocol, at_most_as_far=True)
    possible = _percent(run.mean("schedule", protocol, least) / run.mean("schedule", protocol, most))
    if possible < PAPER_MPTCP_GROWTH - TOLERANCE_POINTS:
        raise Untestable(f"the schedule itself allows no more than {possible:+.0f} % in this form")
    grown = growth_percent(_rates(run, protocol, least), _rates(run, protocol, most))
    verdict, why = judged_percent(grown, paper)
    return Finding(verdict, percent_text(grown), f"{why}; from {least:g} to {most:g} requests/s offered")


def _no_errors(run: _Run) -> Finding:
    loads = run.loads("mptcp")
    if not loads:
        raise Untestable(NOTHING)
    cells = [cell for load in loads for cell in run.by_protocol["mptcp"][load]]
    errors = sum(sum(run.values("errors", "mptcp", load)) for load in loads)
    measured = f"{errors:.0f} errors in {len(cells)} runs at {len(loads)} loads"
    if errors > 0:
        worst = max(loads, key=lambda load: run.mean("error_rate", "mptcp", load))
        why = f"most at {worst:g}/s: {run.mean('error_rate', 'mptcp', worst):.2g} % of requests"
        return Finding(ClaimVerdict.NOT_REPRODUCED, measured, why)
    _extremes(run, "mptcp")
    if missing := sorted(set(run.loads("tcp")) - set(loads)):
        raise Untestable(f"no MPTCP cell may be believed at {', '.join(f'{load:g}' for load in missing)} requests/s")
    if any(len(run.values("errors", "mptcp", load)) == 0 for load in loads):
        raise Untestable("errors were not counted in every cell")
    if run.form == "quick" and _total_errors(run, "tcp") == 0:
        raise Untestable(f"TCP had none either: {_TOO_SHORT}")
    return Finding(ClaimVerdict.REPRODUCED, measured)


def _errors_grow(run: _Run) -> Finding:
    least, most = _extremes(run, "tcp")
    loads = run.loads("tcp")
    if _total_errors(run, "tcp") == 0 and run.form == "quick":
        raise Untestable(_TOO_SHORT)
    rates = [run.mean("error_rate", "tcp", load) for load in loads]
    first, last = rates[0], rates[-1]
    measured = f"{first:.2g} % at {least:g}/s, {last:.2g} % at {most:g}/s"
    if max(rates) < ERRORS_APPEAR_PERCENT:
        return Finding(ClaimVerdict.NOT_REPRODUCED, measured, f"fewer than {ERRORS_APPEAR_PERCENT:g} % failed")
    from scipy import stats  # it takes as long to load as all the rest, and is needed when all is measured

    rank = float(stats.spearmanr(loads, rates).statistic) if len(set(rates)) > 1 else 0.0
    why = f"rank correlation with load {rank:+.2f} over {len(loads)} loads, {RISING_RANK:g} asked for"
    grows = last > first and rank >= RISING_RANK
    return Finding.of(grows, measured, why)


def _run_time(run: _Run) -> Finding:
    _, most = _extremes(run, "tcp", "mptcp")
    late = {load: _late_s(run, "mptcp", load) for load in run.loads("mptcp")}
    worst = max(late, key=lambda load: late[load] - _allowed_s(run, "mptcp", load))
    mptcp_follows = late[worst] <= _allowed_s(run, "mptcp", worst)
    tcp_late = _late_s(run, "tcp", most)
    tcp_exceeds = tcp_late > _allowed_s(run, "tcp", most)
    mptcp_late = max(0.0, late[worst])
    measured = (
        f"MPTCP ends {mptcp_late:.1f} s after the schedule at worst ({worst:g}/s); TCP {tcp_late:.1f} s at {most:g}/s"
    )
    why = f"late is more than {LATE_SHARE:.0%} of the schedule, or {LATE_S:g} s if more"
    reproduced = mptcp_follows and tcp_exceeds
    return Finding.of(reproduced, measured, why)


def _advantage_at_most(run: _Run) -> Finding:
    _, most = _extremes(run, "tcp", "mptcp")
    more = growth_percent(_rates(run, "tcp", most), _rates(run, "mptcp", most))
    verdict, why = judged_percent(more, PAPER_ADVANTAGE)
    return Finding(verdict, percent_text(more), f"{why}; at {most:g} requests/s offered")


def _little_at_least(run: _Run) -> Finding:
    least, _ = _extremes(run, "tcp", "mptcp")
    more = growth_percent(_rates(run, "tcp", least), _rates(run, "mptcp", least))
    why = f"little is up to {LITTLE_PERCENT:g} % either way; at {least:g} requests/s offered"
    refuse_vague(more)
    little = abs(more.value) <= LITTLE_PERCENT
    return Finding.of(little, percent_text(more), why)


_TOO_SHORT = "the quick form is too short for a request to wait for its timeout; run --full"


def _extremes(run: _Run, *protocols: str, at_most_as_far: bool = False) -> tuple[float, float]:
    """The least and highest load at which all of some protocols were measured, if they are as far apart as the paper's.

    A sample from the middle says nothing about extremes; and how much throughput grows depends on how much load does.
    """
    loads = run.loads(*protocols)
    if not loads:
        raise Untestable(NOTHING)
    everywhere = sorted(set(run.loads("tcp")) | set(run.loads("mptcp")))
    if (loads[0], loads[-1]) != (everywhere[0], everywhere[-1]):
        raise Untestable("the least or the highest load of this run has no cell that may be believed")
    grown = _percent(loads[-1] / loads[0])
    if grown < PAPER_LOAD_GROWTH - TOLERANCE_POINTS or (
        at_most_as_far and grown > PAPER_LOAD_GROWTH + TOLERANCE_POINTS
    ):
        raise Untestable(f"the load grows by {grown:.0f} % in this run, by {PAPER_LOAD_GROWTH:.0f} % in the paper")
    return loads[0], loads[-1]


def _rates(run: _Run, protocol: str, load: float) -> list[float]:
    rates = run.values("requests_per_s", protocol, load)
    if not rates or statistics.fmean(rates) <= 0:
        raise Untestable(f"no throughput was measured for {protocol} at {load:g}/s")
    return rates


def _late_s(run: _Run, protocol: str, load: float) -> float:
    return run.mean("run_time", protocol, load) - run.mean("schedule", protocol, load)


def _allowed_s(run: _Run, protocol: str, load: float) -> float:
    return max(LATE_SHARE * run.mean("schedule", protocol, load), LATE_S)


def _total_errors(run: _Run, protocol: str) -> float:
    return sum(sum(run.values("errors", protocol, load)) for load in run.loads(protocol))


def _by_load(cells: Sequence[CellResult], protocol: str) -> dict[float, list[CellResult]]:
    loads: dict[float, list[CellResult]] = {}
    for cell in usable(cells):
        parameters = cell.cell.parameters
        if parameters.get("protocol") == protocol and "load" in parameters:
            loads.setdefault(float(parameters["load"]), []).append(cell)
    return loads


def _percent(ratio: float) -> float:
    return (ratio - 1) * 100
