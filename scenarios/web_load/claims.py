"""The claims of the MPTCP load paper (Hou et al. 2020).

Cells have the parameters `protocol` (`tcp`, `mptcp`) and `load` (offered requests per second). A claim about the lowest
or the highest load is tested only if the run's loads are as far apart as the paper's.
"""

import statistics
from dataclasses import replace
from functools import partial

from results.records import ClaimVerdict
from results.statistics.estimates import Estimate, growth_percent
from scenarios.framework.claims import (
    TOLERANCE_POINTS,
    ClaimCheck,
    Evidence,
    InsufficientData,
    Outcome,
    compare_percent,
    percent_text,
    reproduced_if,
    require_narrow,
)

PAPER_MPTCP_GROWTH = 50.0
PAPER_TCP_GROWTH = 16.0
PAPER_ADVANTAGE = 45.0
PAPER_LOAD_GROWTH = 60.0
"""Ramps from 160 s to 100 s for the same 80 000 requests: 500 to 800 requests/s."""

LITTLE_PERCENT = 15.0
"""What "not much different" may be: by the paper's other three values it is 1.45 x 1.16 / 1.50 = +12 %."""

LATE_SHARE, LATE_S = 0.05, 1.0
"""A run that follows its schedule ("almost immediately") ends at most 5 % of it late, or one second if that is more.

The second is for quick runs, where a single retransmission timeout is 5 % of a ramp.
"""

ERRORS_APPEAR_PERCENT = 0.1
"""Below one request in a thousand errors do not "appear": the paper plots them in per cent of all requests."""

RISING_RANK = 0.5
"""Spearman's rank correlation of error rate and load above which errors "grow with load", if not at every step."""

_TOO_SHORT = "the quick form is too short for a request to wait for its timeout; run --full"


def mptcp_load_claims() -> list[ClaimCheck]:
    """All claims of the paper."""
    return [
        ClaimCheck(
            "MPTCP's throughput grows by half from the lowest to the highest load",
            "+50 %",
            partial(_growth, protocol="mptcp", paper=PAPER_MPTCP_GROWTH),
        ),
        ClaimCheck(
            "TCP's throughput grows little from the lowest to the highest load",
            "+16 %",
            partial(_growth, protocol="tcp", paper=PAPER_TCP_GROWTH),
        ),
        ClaimCheck("with MPTCP no request fails at any load", "0 errors", _no_errors),
        ClaimCheck(
            "with TCP requests fail, and the more the higher the load", "errors that grow with load", _errors_grow
        ),
        ClaimCheck(
            "the run time follows the ramp with MPTCP only",
            "MPTCP ends with the ramp at every load, TCP later",
            _run_time,
        ),
        ClaimCheck("at the highest load MPTCP's throughput is well above TCP's", "+45 %", _advantage_at_highest),
        ClaimCheck(
            "at low load MPTCP and TCP differ little",
            "not much different (+12 % by the paper's other values)",
            _little_at_lowest,
        ),
    ]


def _growth(evidence: Evidence, protocol: str, paper: float) -> Outcome:
    lowest, highest = _extremes(evidence, protocol, at_most_as_far=True)
    own = evidence.where(protocol=protocol)
    schedules = [own.where(load=load).mean("schedule") for load in (lowest, highest)]
    possible = _percent(schedules[0] / schedules[1])
    if possible < PAPER_MPTCP_GROWTH - TOLERANCE_POINTS:
        raise InsufficientData(f"the schedule itself allows no more than {possible:+.0f} % in this form")
    grown = growth_percent(_rates(evidence, protocol, lowest), _rates(evidence, protocol, highest))
    return _noted(compare_percent(grown, paper), f"from {lowest:g} to {highest:g} requests/s offered")


def _no_errors(evidence: Evidence) -> Outcome:
    own = evidence.where(protocol="mptcp")
    by_load = own.by("load")
    errors = sum(own.values("errors"))
    measured = f"{errors:.0f} errors in {len(own.cells)} runs at {len(by_load)} loads"
    if errors > 0:
        rates = own.means("error_rate", "load")
        worst = max(rates, key=rates.__getitem__)
        why = f"most at {worst:g}/s: {rates[worst]:.2g} % of requests"
        return Outcome(ClaimVerdict.NOT_REPRODUCED, measured, why)
    _extremes(evidence, "mptcp")
    if missing := sorted(set(_loads(evidence, "tcp")) - set(by_load)):
        raise InsufficientData(f"no MPTCP cell is usable at {', '.join(f'{load:g}' for load in missing)} requests/s")
    for of_load in by_load.values():
        of_load.values("errors")
    if evidence.form == "quick" and not any(evidence.where(protocol="tcp").values("errors")):
        raise InsufficientData(f"TCP had none either: {_TOO_SHORT}")
    return Outcome(ClaimVerdict.REPRODUCED, measured)


def _errors_grow(evidence: Evidence) -> Outcome:
    lowest, highest = _extremes(evidence, "tcp")
    own = evidence.where(protocol="tcp")
    if evidence.form == "quick" and not any(own.values("errors")):
        raise InsufficientData(_TOO_SHORT)
    by_load = own.means("error_rate", "load")
    loads, rates = list(by_load), list(by_load.values())
    measured = f"{rates[0]:.2g} % at {lowest:g}/s, {rates[-1]:.2g} % at {highest:g}/s"
    if max(rates) < ERRORS_APPEAR_PERCENT:
        return reproduced_if(False, measured, f"fewer than {ERRORS_APPEAR_PERCENT:g} % failed")
    from scipy import stats  # slow to load, and needed only when everything has been measured

    rank = float(stats.spearmanr(loads, rates).statistic) if len(set(rates)) > 1 else 0.0
    why = f"rank correlation with load {rank:+.2f} over {len(loads)} loads, at least {RISING_RANK:g} expected"
    return reproduced_if(rates[-1] > rates[0] and rank >= RISING_RANK, measured, why)


def _run_time(evidence: Evidence) -> Outcome:
    _, highest = _extremes(evidence, "tcp", "mptcp")
    late = {load: _late_s(part) for load, part in evidence.where(protocol="mptcp").by("load").items()}
    worst = max(late, key=lambda load: late[load][0] - late[load][1])
    mptcp_s, mptcp_allowed_s = late[worst]
    tcp_s, tcp_allowed_s = _late_s(evidence.where(protocol="tcp", load=highest))
    measured = (
        f"MPTCP ends {max(0.0, mptcp_s):.1f} s after the schedule at worst ({worst:g}/s); "
        f"TCP {tcp_s:.1f} s at {highest:g}/s"
    )
    why = f"late is more than {LATE_SHARE:.0%} of the schedule, or {LATE_S:g} s if that is more"
    return reproduced_if(mptcp_s <= mptcp_allowed_s and tcp_s > tcp_allowed_s, measured, why)


def _advantage_at_highest(evidence: Evidence) -> Outcome:
    _, highest = _extremes(evidence, "tcp", "mptcp")
    return _noted(compare_percent(_advantage(evidence, highest), PAPER_ADVANTAGE), f"at {highest:g} requests/s offered")


def _little_at_lowest(evidence: Evidence) -> Outcome:
    lowest, _ = _extremes(evidence, "tcp", "mptcp")
    advantage = _advantage(evidence, lowest)
    require_narrow(advantage)
    why = f"little is up to {LITTLE_PERCENT:g} % either way; at {lowest:g} requests/s offered"
    return reproduced_if(abs(advantage.value) <= LITTLE_PERCENT, percent_text(advantage), why)


def _advantage(evidence: Evidence, load: float) -> Estimate:
    return growth_percent(_rates(evidence, "tcp", load), _rates(evidence, "mptcp", load))


def _extremes(evidence: Evidence, *protocols: str, at_most_as_far: bool = False) -> tuple[float, float]:
    """The lowest and the highest load at which all of some protocols were measured.

    Raises:
        InsufficientData: they are not the run's lowest and highest, or are not as far apart as the paper's.
    """
    loads = sorted(set.intersection(*(set(_loads(evidence, protocol)) for protocol in protocols)))
    everywhere = sorted({*_loads(evidence, "tcp"), *_loads(evidence, "mptcp")})
    for protocol in protocols:
        _require_cells(evidence.where(protocol=protocol), protocol.upper())
        for load in (everywhere[0], everywhere[-1]):
            _require_cells(evidence.where(protocol=protocol, load=load), f"{protocol.upper()} at {load:g} requests/s")
    grown = _percent(loads[-1] / loads[0])
    too_far = at_most_as_far and grown > PAPER_LOAD_GROWTH + TOLERANCE_POINTS
    if grown < PAPER_LOAD_GROWTH - TOLERANCE_POINTS or too_far:
        raise InsufficientData(f"the load grows by {grown:.0f} % in this run, not by {PAPER_LOAD_GROWTH:.0f} %")
    return loads[0], loads[-1]


def _require_cells(evidence: Evidence, what: str) -> None:
    if not evidence.cells:
        raise InsufficientData(f"{what}: {evidence.why_empty}")


def _loads(evidence: Evidence, protocol: str) -> list[float]:
    return [float(load) for load in evidence.where(protocol=protocol).by("load")]


def _rates(evidence: Evidence, protocol: str, load: float) -> list[float]:
    rates = evidence.where(protocol=protocol, load=load).values("requests_per_s")
    if statistics.fmean(rates) <= 0:
        raise InsufficientData(f"no request was answered with {protocol} at {load:g}/s")
    return rates


def _late_s(evidence: Evidence) -> tuple[float, float]:
    """How late the runs at one load end, and how late they may end, in s."""
    schedule_s = evidence.mean("schedule")
    return evidence.mean("run_time") - schedule_s, max(LATE_SHARE * schedule_s, LATE_S)


def _noted(outcome: Outcome, note: str) -> Outcome:
    return replace(outcome, why=f"{outcome.why}; {note}")


def _percent(ratio: float) -> float:
    return (ratio - 1) * 100
