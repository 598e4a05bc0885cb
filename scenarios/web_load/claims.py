"""The claims of the MPTCP load paper (Hou et al. 2020).

Cells have the parameters `protocol` (`tcp`, `mptcp`) and `load` (offered requests per second). Claims are about the
loads of the paper, of which the highest is 60 % above the lowest; a run may have lower ones, and claims about low load
are tested there. Most of the paper's sizes follow from the size of its pages, which decides at which load one path is
full (`path_capacity`): further claims say what holds for pages of any size.
"""

import contextlib
import itertools
import statistics
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from results.records import ClaimVerdict
from results.statistics.estimates import Estimate, growth_percent
from scenarios.framework.claims import (
    TOLERANCE_POINTS,
    Check,
    ClaimCheck,
    Evidence,
    InsufficientData,
    Outcome,
    compare_percent,
    percent_text,
    reproduced_if,
    require_narrow,
)
from scenarios.web_load.study import varied

PAPER_MPTCP_GROWTH = 50.0
PAPER_TCP_GROWTH = 16.0
PAPER_ADVANTAGE = 45.0
PAPER_LOAD_GROWTH = 60.0
"""Ramps from 160 s to 100 s for the same 80 000 requests: 500 to 800 requests/s."""

LITTLE_PERCENT = 15.0
"""What "not much different" may be: by the paper's other three values it is 1.45 x 1.16 / 1.50 = +12 %."""

EQUAL_PERCENT = 0.5
"""An advantage that is surely below this is none."""

LATE_SHARE, LATE_S = 0.05, 1.0
"""A run that follows its schedule ("almost immediately") ends at most 5 % of it late, or one second if that is more.

The second is for quick runs, where a single retransmission timeout is 5 % of a ramp.
"""

ERRORS_APPEAR_PERCENT = 0.1
"""Below one request in a thousand errors do not "appear": the paper plots them in per cent of all requests."""

CAPACITY_SHARE = 0.95
"""Up to so much of a path's capacity a load counts as below it, and from so much on a path counts as full."""

LOW_SHARE = 0.2
"""A load is really low up to so much of the highest."""

RISING_RANK = 0.5
"""Spearman's rank correlation of error rate and load above which errors "grow with load", if not at every step."""

_TOO_SHORT = "the quick form is too short for a request to wait for its timeout; run --full"


def mptcp_load_claims() -> list[ClaimCheck]:
    """All claims of the paper, and what they mean for pages of any size."""
    claims = [
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
        ClaimCheck("with TCP a run ends the later the higher the load", "later at each load", _tcp_later_with_load),
        ClaimCheck("at the highest load MPTCP's throughput is well above TCP's", "+45 %", _advantage_at_highest),
        ClaimCheck("MPTCP's throughput is higher than TCP's at each load", "higher at each load", _higher_at_each),
        ClaimCheck(
            "at low load MPTCP and TCP differ little",
            "not much different (+12 % by the paper's other values)",
            _little_at_lowest,
        ),
        ClaimCheck(
            "below the capacity of one path MPTCP and TCP differ little (ours)",
            f"up to {LITTLE_PERCENT:g} % either way",
            _little_below_capacity,
        ),
        ClaimCheck(
            "above it TCP is held to one path, and MPTCP answers what is offered, up to both (ours)",
            f"TCP up to one path; MPTCP from {CAPACITY_SHARE:.0%} of the offer or of both",
            _up_to_capacity,
        ),
    ]
    return [replace(claim, check=partial(_of_one_set_up, check=claim.check)) for claim in claims]


def _of_one_set_up(evidence: Evidence, check: Check) -> Outcome:
    """Checks a claim unless the run varies more than protocol and load."""
    if names := varied([*evidence.cells, *evidence.unusable]):
        raise InsufficientData(f"this run varies {', '.join(sorted(names))}: see the figures `study_…`")
    return check(evidence)


def _growth(evidence: Evidence, protocol: str, paper: float) -> Outcome:
    lowest, highest = _extremes(evidence, protocol)
    own = evidence.where(protocol=protocol)
    schedules = [own.where(load=load).mean("schedule") for load in (lowest, highest)]
    possible = _percent(schedules[0] / schedules[1])
    if possible < PAPER_MPTCP_GROWTH - TOLERANCE_POINTS:
        raise InsufficientData(f"the schedule itself allows no more than {possible:+.0f} % in this form")
    grown = growth_percent(_rates(evidence, protocol, lowest), _rates(evidence, protocol, highest))
    outcome = _noted(compare_percent(grown, paper), f"from {lowest:g} to {highest:g} requests/s offered")
    return _noted(outcome, _by_page_size(evidence)) if protocol == "tcp" else outcome


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
    rate_of = own.means("error_rate", "load")
    loads = _loads_like_the_papers(float(load) for load in rate_of)
    rates = [rate_of[load] for load in loads]
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
    outcome = compare_percent(_advantage(evidence, highest), PAPER_ADVANTAGE)
    return _noted(_noted(outcome, f"at {highest:g} requests/s offered"), _by_page_size(evidence))


def _by_page_size(evidence: Evidence) -> str:
    """What the size of the pages makes of the paper's sizes."""
    with contextlib.suppress(InsufficientData):
        size, capacity = evidence.mean("request_size"), evidence.mean("path_capacity")
        return f"given by the size of a page: with {size / 1e3:.1f} kB a request one path is full at {capacity:.0f}/s"
    return ""


def _tcp_later_with_load(evidence: Evidence) -> Outcome:
    _extremes(evidence, "tcp")
    late_s = {load: _late_s(part)[0] for load, part in evidence.where(protocol="tcp").by("load").items()}
    loads = sorted(late_s)
    measured = ", ".join(f"{late_s[load]:.1f} s at {load:g}/s" for load in loads)
    falls = [f"{b:g}/s" for a, b in itertools.pairwise(loads) if late_s[b] < late_s[a] - LATE_S]
    why = f"earlier again at {', '.join(falls)}" if falls else "after its schedule"
    return reproduced_if(not falls and late_s[loads[-1]] > LATE_S, measured, why)


def _higher_at_each(evidence: Evidence) -> Outcome:
    _extremes(evidence, "tcp", "mptcp")
    advantages = {load: _advantage(evidence, load) for load in loads_of_both(evidence)}
    measured = ", ".join(f"{each.value:+.1f} % at {load:g}/s" for load, each in advantages.items())
    if none := [load for load, each in advantages.items() if each.value <= EQUAL_PERCENT and _is_sure(each)]:
        return reproduced_if(False, measured, f"not above {EQUAL_PERCENT:g} % at {', '.join(f'{n:g}/s' for n in none)}")
    if vague := [load for load, each in advantages.items() if each.low is not None and each.low <= 0]:
        raise InsufficientData(f"{measured}: 0 is in the interval at {', '.join(f'{load:g}/s' for load in vague)}")
    return reproduced_if(True, measured)


def _is_sure(advantage: Estimate) -> bool:
    return advantage.high is None or advantage.high <= EQUAL_PERCENT


def _little_below_capacity(evidence: Evidence) -> Outcome:
    capacity = evidence.mean("path_capacity")
    below = [load for load in loads_of_both(evidence) if load <= CAPACITY_SHARE * capacity]
    if not below:
        raise InsufficientData(f"no load is below the capacity of one path ({capacity:.0f} requests/s)")
    advantages = {load: _advantage(evidence, load) for load in below}
    for advantage in advantages.values():
        require_narrow(advantage)
    worst = max(below, key=lambda load: abs(advantages[load].value))
    why = f"at {worst:g}/s, where they differ most; one path carries {capacity:.0f}/s"
    return reproduced_if(abs(advantages[worst].value) <= LITTLE_PERCENT, percent_text(advantages[worst]), why)


def _up_to_capacity(evidence: Evidence) -> Outcome:
    capacity = evidence.mean("path_capacity")
    above = [load for load in loads_of_both(evidence) if load > capacity]
    if not above:
        raise InsufficientData(f"no load is above the capacity of one path ({capacity:.0f} requests/s)")
    highest = above[-1]
    at_load = {protocol: evidence.where(protocol=protocol, load=highest) for protocol in ("tcp", "mptcp")}
    tcp, mptcp = (part.mean("requests_per_s") for part in at_load.values())
    possible = min(highest * at_load["mptcp"].mean("ramp") / at_load["mptcp"].mean("schedule"), 2 * capacity)
    measured = f"TCP {tcp:.0f}/s and MPTCP {mptcp:.0f}/s of {possible:.0f}/s at {highest:g}/s offered"
    holds = tcp <= capacity / CAPACITY_SHARE and mptcp >= CAPACITY_SHARE * possible
    return reproduced_if(holds, measured, f"one path carries {capacity:.0f}/s")


def _little_at_lowest(evidence: Evidence) -> Outcome:
    _, highest = _extremes(evidence, "tcp", "mptcp")
    lowest = loads_of_both(evidence)[0]
    if lowest > LOW_SHARE * highest:
        raise InsufficientData(f"no load is low: the lowest is {lowest:g} requests/s")
    advantage = _advantage(evidence, lowest)
    require_narrow(advantage)
    why = f"little is up to {LITTLE_PERCENT:g} % either way; at {lowest:g} requests/s offered"
    return reproduced_if(abs(advantage.value) <= LITTLE_PERCENT, percent_text(advantage), why)


def _advantage(evidence: Evidence, load: float) -> Estimate:
    return growth_percent(_rates(evidence, "tcp", load), _rates(evidence, "mptcp", load))


def _extremes(evidence: Evidence, *protocols: str) -> tuple[float, float]:
    """The lowest and the highest load of the paper's, at which all of some protocols were measured.

    Raises:
        InsufficientData: one was not measured, or they are not as far apart as the paper's.
    """
    everywhere = _loads_like_the_papers({*_loads(evidence, "tcp"), *_loads(evidence, "mptcp")})
    loads = _loads_like_the_papers(set.intersection(*(set(_loads(evidence, protocol)) for protocol in protocols)))
    for protocol in protocols:
        _require_cells(evidence.where(protocol=protocol), protocol.upper())
        for load in (everywhere[0], everywhere[-1]):
            _require_cells(evidence.where(protocol=protocol, load=load), f"{protocol.upper()} at {load:g} requests/s")
    grown = _percent(loads[-1] / loads[0])
    if grown < PAPER_LOAD_GROWTH - TOLERANCE_POINTS:
        raise InsufficientData(f"the load grows by {grown:.0f} % in this run, not by {PAPER_LOAD_GROWTH:.0f} %")
    return loads[0], loads[-1]


def _loads_like_the_papers(loads: Iterable[float]) -> list[float]:
    """The highest load, and those that are not farther below it than the paper's lowest."""
    loads = list(loads)
    least = max(loads, default=0) / (1 + (PAPER_LOAD_GROWTH + TOLERANCE_POINTS) / 100)
    return sorted(load for load in loads if load >= least)


def loads_of_both(evidence: Evidence) -> list[float]:
    """The loads at which both protocols were measured, lowest first.

    Raises:
        InsufficientData: there is none.
    """
    loads = sorted(set(_loads(evidence, "tcp")) & set(_loads(evidence, "mptcp")))
    if not loads:
        raise InsufficientData(evidence.why_empty if not evidence.cells else "no load was measured with both protocols")
    return loads


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
    return replace(outcome, why="; ".join(filter(None, (outcome.why, note))))


def _percent(ratio: float) -> float:
    return (ratio - 1) * 100
