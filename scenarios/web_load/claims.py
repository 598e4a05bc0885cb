"""The claims of the MPTCP load paper (Hou et al. 2020).

Cells have the parameters `protocol` (`tcp`, `mptcp`) and `load` (offered requests per second). Claims are about the
loads of the paper, of which the highest is 60 % above the lowest; a run may have lower ones, and claims about low load
are tested there. Most of the paper's sizes follow from the size of its pages, which decides at which load one path is
full (`path_capacity`): further claims say what holds for pages of any size.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from experiments.claims import Check, ClaimCheck, Evidence, InsufficientData, Outcome
from experiments.judging import (
    MORE,
    PERCENT,
    Found,
    Range,
    about,
    change,
    claim,
    direction_and_size,
    found,
    growth,
    judge,
    members_text,
    together,
)
from flightpath.units import counted
from results.records import ClaimVerdict
from results.statistics.effects import difference_of_means
from results.statistics.estimates import mean
from scenarios.web_load.loads import advantage, extremes, in_paper_range, loads, papers_loads, percent, rates
from scenarios.web_load.run_time_claims import run_time_claims
from scenarios.web_load.study import effects, varied

PAPER_MPTCP_GROWTH = 50.0
PAPER_TCP_GROWTH = 16.0
PAPER_ADVANTAGE = 45.0

PAPER_POINTS = 5.0
"""Precision of the paper's values, which it does not state: a run that ends "almost immediately" after
ramps of 160 s and 100 s grows by nearly 60 %, not by 50 %."""

LITTLE_PERCENT = 15.0
"""Largest difference that counts as little: by the paper's other three values it is 1.45 x 1.16 / 1.50 = +12 %."""

ERRORS_APPEAR_PERCENT = 0.1
"""Smallest error rate at which errors "appear": the paper plots them in per cent of all requests."""

CAPACITY_SHARE = 0.95
"""Fraction of a path's capacity up to which a load counts as below it, and from which a path counts as full."""

LOW_SHARE = 0.2
"""Fraction of the highest load up to which a load counts as low."""

RISING_RANK = 0.5
"""Spearman's rank correlation of error rate and load above which errors "grow with load", if not at every step."""

_LITTLE = about(0, LITTLE_PERCENT)
_TOO_SHORT = "the quick form is too short for a request to wait for its timeout: run --full"


def mptcp_load_claims() -> tuple[ClaimCheck, ...]:
    """Returns all claims of the paper, and what they mean for pages of any size."""
    claims = [*_growths(), *_errors(), *run_time_claims(), *_differences(), *_ours()]
    return (
        *(replace(each, check=partial(_unless_study, check=each.check)) for each in claims),
        ClaimCheck(
            "adjusting parameters increases MPTCP's throughput",
            "more with one of the values that were tried, at the highest load",
            _adjusted,
        ),
    )


def _growths() -> Iterable[ClaimCheck]:
    for protocol, paper, words in (
        ("mptcp", PAPER_MPTCP_GROWTH, "by half"),
        ("tcp", PAPER_TCP_GROWTH, "only"),
    ):
        direction, size = direction_and_size(
            f"{protocol.upper()}'s throughput grows from the lowest to the highest load",
            partial(_growth, protocol=protocol),
            paper,
            PAPER_POINTS,
            stated=words,
            note=partial(_between, protocol=protocol),
        )
        yield direction
        yield replace(size, check=partial(_if_allowed, protocol=protocol, check=size.check))


def _errors() -> Iterable[ClaimCheck]:
    yield ClaimCheck("with MPTCP no request fails at any load", "0 errors", _no_errors)
    yield ClaimCheck(
        "with TCP requests fail, and the more the higher the load", "errors that grow with load", _errors_grow
    )


def _differences() -> Iterable[ClaimCheck]:
    yield from direction_and_size(
        "at the highest load MPTCP's throughput is above TCP's",
        lambda evidence: {"": advantage(evidence, extremes(evidence, "tcp", "mptcp")[1])},
        PAPER_ADVANTAGE,
        PAPER_POINTS,
        note=_at_highest,
    )
    yield claim(
        "MPTCP's throughput is higher than TCP's at each load",
        "higher at each load from 500 to 800 requests/s, or in their proportion",
        _at_each,
        MORE,
    )
    yield claim(
        "at low load MPTCP and TCP differ little",
        f"within {LITTLE_PERCENT:g} % (+12 % by the paper's other values)",
        _at_lowest,
        _LITTLE,
    )


def _ours() -> Iterable[ClaimCheck]:
    yield claim(
        "MPTCP carries more between hosts than TCP at the highest load (ours)",
        "more between students and web server (the paper draws figure 3, and states no value)",
        _between_hosts,
        MORE,
    )
    yield claim(
        "below the capacity of one path MPTCP and TCP differ little (ours)",
        f"within {LITTLE_PERCENT:g} %",
        _below_capacity,
        _LITTLE,
        note=lambda evidence: f"one path carries {evidence.mean('path_capacity'):.0f}/s",
    )
    yield ClaimCheck(
        "above it TCP is held to one path, and MPTCP answers what is offered, up to both (ours)",
        f"TCP up to one path; MPTCP from {CAPACITY_SHARE:.0%} of the offer or of both",
        _up_to_capacity,
    )


def _unless_study(evidence: Evidence, check: Check) -> Outcome:
    """Checks a claim unless the run varies more than protocol and load."""
    if names := varied([*evidence.cells, *evidence.left_out]):
        raise InsufficientData(f"this run varies {', '.join(sorted(names))}: see the figures `study_…`")
    return check(evidence)


def _adjusted(evidence: Evidence) -> Outcome:
    """Judges the value of a parameter that helps most."""
    if not evidence.cells:
        raise InsufficientData(evidence.why_empty)
    if not varied([*evidence.cells, *evidence.left_out]):
        raise InsufficientData("this run adjusts no parameter: give --receive-buffer or --buffering several values")
    tried = {f"{e.factor}={e.value}": e.change for e in effects(evidence.cells) if e.protocol == "mptcp"}
    if not tried:
        raise InsufficientData("no two values of a parameter were measured with MPTCP")
    best = max(tried, key=lambda name: tried[name].value)
    return replace(judge({best: tried[best]}, MORE), measured=members_text(tried, PERCENT))


def _growth(evidence: Evidence, protocol: str) -> dict[str, Found]:
    lowest, highest = extremes(evidence, protocol)
    return {"": growth(rates(evidence, protocol, lowest), rates(evidence, protocol, highest))}


def _if_allowed(evidence: Evidence, protocol: str, check: Check) -> Outcome:
    """Checks a size unless sessions that are long against the ramps keep the rates closer together."""
    possible = _possible_growth(evidence, protocol)
    if possible < PAPER_MPTCP_GROWTH - PAPER_POINTS:
        raise InsufficientData(f"the schedule itself allows no more than {possible:+.0f} % in this form")
    return check(evidence)


def _possible_growth(evidence: Evidence, protocol: str) -> float:
    """Returns the growth in per cent of runs that end with their schedules."""
    lowest, highest = extremes(evidence, protocol)
    own = evidence.where(protocol=protocol)
    return percent(own.where(load=lowest).mean("schedule") / own.where(load=highest).mean("schedule"))


def _between(evidence: Evidence, protocol: str) -> str:
    lowest, highest = extremes(evidence, protocol)
    possible = _possible_growth(evidence, protocol)
    scheduled = f"from {lowest:g} to {highest:g} requests/s offered, whose schedule grows by {possible:.0f} %"
    return f"{scheduled}; {_by_page_size(evidence)}" if protocol == "tcp" else scheduled


def _at_highest(evidence: Evidence) -> str:
    _, highest = extremes(evidence, "tcp", "mptcp")
    offered = f"at {highest:g} requests/s offered"
    with contextlib.suppress(InsufficientData):
        offered += f", of which the schedule allows {_allowed(evidence.where(protocol='mptcp', load=highest)):.0f}"
    return f"{offered}; {_by_page_size(evidence)}"


def _allowed(at_load: Evidence) -> float:
    """Returns the rate of a run that ends with its schedule: the last student's session follows the ramp."""
    (load,) = at_load.numbers("load")
    return load * at_load.mean("ramp") / at_load.mean("schedule")


def _by_page_size(evidence: Evidence) -> str:
    """Returns a note on how the size of the pages determines the sizes that the paper states."""
    with contextlib.suppress(InsufficientData):
        size, capacity = evidence.mean("request_size"), evidence.mean("path_capacity")
        return f"given by the size of a page: with {size / 1e3:.1f} kB a request one path is full at {capacity:.0f}/s"
    return ""


def _no_errors(evidence: Evidence) -> Outcome:
    """Counts the failed requests: a single one refutes the claim, so no interval is needed."""
    own = evidence.where(protocol="mptcp")
    by_load = own.by("load")
    errors = sum(own.values("errors"))
    measured = (
        f"{counted(round(errors), 'error')} in {counted(len(own.cells), 'run')} at {counted(len(by_load), 'load')}"
    )
    if errors > 0:
        by_rate = own.means("error_rate", "load")
        worst = max(by_rate, key=by_rate.__getitem__)
        why = f"most at {worst:g}/s: {by_rate[worst]:.2g} % of requests"
        return Outcome(ClaimVerdict.NOT_REPRODUCED, measured, why)
    extremes(evidence, "mptcp")
    if missing := sorted(set(loads(evidence, "tcp")) - set(by_load)):
        raise InsufficientData(f"no MPTCP cell is usable at {', '.join(f'{load:g}' for load in missing)} requests/s")
    for of_load in by_load.values():
        of_load.values("errors")
    if evidence.form == "quick" and not any(evidence.where(protocol="tcp").values("errors")):
        raise InsufficientData(f"TCP had none either: {_TOO_SHORT}")
    return Outcome(ClaimVerdict.REPRODUCED, measured)


def _errors_grow(evidence: Evidence) -> Outcome:
    lowest, highest = extremes(evidence, "tcp")
    own = evidence.where(protocol="tcp")
    if evidence.form == "quick" and not any(own.values("errors")):
        raise InsufficientData(_TOO_SHORT)
    low, high = (own.where(load=load).values("error_rate") for load in (lowest, highest))
    members = {f"at {highest:g}/s": mean(high), f"more than at {lowest:g}/s": difference_of_means(high, low)}
    outcome = judge(members, Range(least=ERRORS_APPEAR_PERCENT), "{:.2g} %")
    if outcome.verdict is not ClaimVerdict.REPRODUCED:
        return outcome
    rank, count = _rank_with_load(own)
    why = f"rank correlation with load {rank:+.2f} over {count} loads, at least {RISING_RANK:g} expected"
    return outcome if rank >= RISING_RANK else replace(outcome, verdict=ClaimVerdict.NOT_REPRODUCED, why=why)


def _rank_with_load(of_tcp: Evidence) -> tuple[float, int]:
    """Returns Spearman's rank correlation of error rate and load, and the number of loads."""
    rate_of = of_tcp.means("error_rate", "load")
    offered = in_paper_range(float(load) for load in rate_of)
    from scipy import stats  # slow to load, and needed only when everything has been measured

    return float(stats.spearmanr(offered, [rate_of[load] for load in offered]).statistic), len(offered)


def _between_hosts(evidence: Evidence) -> dict[str, Found]:
    _, highest = extremes(evidence, "tcp", "mptcp")
    protocols = ({"protocol": protocol, "load": highest} for protocol in ("tcp", "mptcp"))
    return {"": change(evidence, "throughput_h1_h2_mean", *protocols)}


def _at_each(evidence: Evidence) -> dict[str, Found]:
    extremes(evidence, "tcp", "mptcp")
    return _advantages(evidence, papers_loads(evidence))


def _at_lowest(evidence: Evidence) -> dict[str, Found]:
    _, highest = extremes(evidence, "tcp", "mptcp")
    lowest = evidence.numbers("load")[0]
    if lowest > LOW_SHARE * highest:
        raise InsufficientData(f"no load is low: the lowest is {lowest:g} requests/s")
    return _advantages(evidence, [lowest])


def _below_capacity(evidence: Evidence) -> dict[str, Found]:
    capacity = evidence.mean("path_capacity")
    below = [load for load in evidence.numbers("load") if load <= CAPACITY_SHARE * capacity]
    if not below:
        raise InsufficientData(f"no load is below the capacity of one path ({capacity:.0f} requests/s)")
    return _advantages(evidence, below)


def _advantages(evidence: Evidence, offered: Iterable[float]) -> dict[str, Found]:
    return {f"at {load:g}/s": found(partial(advantage, evidence, load)) for load in offered}


def _up_to_capacity(evidence: Evidence) -> Outcome:
    capacity = evidence.mean("path_capacity")
    above = [load for load in evidence.numbers("load") if load > capacity]
    if not above:
        raise InsufficientData(f"no load is above the capacity of one path ({capacity:.0f} requests/s)")
    highest = above[-1]
    own = evidence.where(protocol="mptcp", load=highest)
    possible = min(_allowed(own), 2 * capacity)
    tcp, mptcp = (
        mean([100 * rate / whole for rate in rates(evidence, protocol, highest)])
        for protocol, whole in (("tcp", capacity), ("mptcp", possible))
    )
    outcome = together(
        judge({"TCP": tcp}, Range(most=100 / CAPACITY_SHARE), "{:.0f} % of one path"),
        judge({"MPTCP": mptcp}, Range(least=100 * CAPACITY_SHARE), "{:.0f} % of what it could"),
    )
    text = f"at {highest:g}/s offered; one path carries {capacity:.0f}/s, and MPTCP could {possible:.0f}/s"
    return replace(outcome, why="; ".join(filter(None, (outcome.why, text))))
