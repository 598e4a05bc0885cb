"""The claims of the MPTCP load paper about how long a run takes, and one of ours about how late it ends."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from experiments.claims import ClaimCheck, Evidence, Outcome
from experiments.judging import LESS, MORE, Found, Range, claim, found, judge, members_text, steps, together
from results.statistics.effects import difference_of_means
from results.statistics.estimates import Estimate, mean
from scenarios.web_load.loads import extremes, papers_loads

LATE_SHARE, LATE_S = 0.05, 1.0
"""Allowed delay of a run that follows its schedule ("almost immediately"): 5 % of it, or one second if that is more.

The second is for quick runs, where a single retransmission timeout is 5 % of a ramp.
"""

_LATE = "{:z.1f} s late"


def run_time_claims() -> Iterable[ClaimCheck]:
    """Yields what the paper says of the run time, and what remains of it against the schedule."""
    for sentence, expected, check in (
        ("with MPTCP a run ends almost immediately after the ramp", "at most 5 % or 1 s late, at each load", _punctual),
        ("with TCP a run takes longer than the ramp", "more than 5 % and 1 s late, at each load", _late_at_each),
    ):
        yield ClaimCheck(sentence, expected, check)
    for protocol, sentence, expected, wanted in (
        ("tcp", "with TCP the total run time grows with the load", "more with each load", MORE),
        ("mptcp", "with MPTCP the total run time falls as the load grows", "less with each load", LESS),
    ):
        yield claim(sentence, expected, partial(_run_times, protocol=protocol), wanted)
    yield ClaimCheck(
        "with TCP a run ends the later after its schedule the higher the load (ours)",
        "later at each load",
        _tcp_later_with_load,
    )


def _punctual(evidence: Evidence) -> Outcome:
    return _judged_late(evidence, "mptcp", lambda allowed_s: Range(most=allowed_s))


def _late_at_each(evidence: Evidence) -> Outcome:
    return _judged_late(evidence, "tcp", lambda allowed_s: Range(least=allowed_s))


def _run_times(evidence: Evidence, protocol: str) -> dict[str, Found]:
    """Returns the change of the run time from each of the paper's loads to the next."""
    extremes(evidence, protocol)
    return steps(evidence.where(load=tuple(papers_loads(evidence))), "run_time", "load", protocol=protocol)


def _judged_late(evidence: Evidence, protocol: str, wanted: Callable[[float], Range]) -> Outcome:
    """Judges how late the runs at each of the paper's loads end; `wanted` makes a range of the allowed delay in s."""
    extremes(evidence, protocol)
    parts = {load: evidence.where(protocol=protocol, load=load) for load in papers_loads(evidence)}
    late = {f"at {load:g}/s": found(partial(_late, part)) for load, part in parts.items()}
    judged = [
        judge({name: found_at}, wanted(max(LATE_SHARE * part.mean("schedule"), LATE_S)), _LATE)
        for (name, found_at), part in zip(late.items(), parts.values(), strict=True)
    ]
    outcome = together(*judged)
    measured = {name: value for name, value in late.items() if isinstance(value, Estimate)}
    return replace(outcome, measured=members_text(measured, _LATE))


def _tcp_later_with_load(evidence: Evidence) -> Outcome:
    lowest, highest = extremes(evidence, "tcp")
    late_s = {load: _late_s(part) for load, part in evidence.where(protocol="tcp").by("load").items()}
    changes = {
        f"{a:g} to {b:g}/s": difference_of_means(late_s[b], late_s[a]) for a, b in itertools.pairwise(sorted(late_s))
    }
    whole = {f"{lowest:g} to {highest:g}/s": difference_of_means(late_s[highest], late_s[lowest])}
    at_highest = {f"{highest:g}/s": mean(late_s[highest])}
    later = "{:+z.1f} s later"
    outcome = together(
        judge(whole, Range(least=LATE_S), later),
        judge(changes, Range(least=-LATE_S), later),
        judge(at_highest, Range(least=LATE_S), _LATE),
    )
    return replace(outcome, measured=f"{members_text(whole, later)}; {members_text(at_highest, _LATE)}")


def _late(evidence: Evidence) -> Estimate:
    return mean(_late_s(evidence))


def _late_s(evidence: Evidence) -> list[float]:
    """Returns the delay of each run against its schedule, in s."""
    pairs = zip(evidence.values("run_time"), evidence.values("schedule"), strict=True)
    return [run_time_s - schedule_s for run_time_s, schedule_s in pairs]
