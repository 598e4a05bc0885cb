"""The answer of the experiment in a few sentences."""

import itertools
from collections.abc import Sequence

from experiments.claims import Evidence, InsufficientData
from experiments.judging import percent_text
from flightpath.units import counted
from results.records import CellResult
from results.statistics.estimates import usable
from scenarios.web_load.loads import loads_of_both
from scenarios.web_load.study import Effect, effects, varied

_MAX_NAMED = 3

LATE_S = 0.5
"""Smallest delay that is called late: the last student's requests take about as long anyway."""


def answer(cells: Sequence[CellResult]) -> list[str]:
    """Returns how MPTCP and TCP differ at the highest and lowest load, who keeps the schedule, and what failed.

    For a study, returns which factors matter. The list is empty if the usable cells do not suffice.
    """
    if varied(cells):
        return _what_matters(cells)
    evidence = Evidence(usable(cells), "")
    try:
        loads = loads_of_both(evidence)
        return [_rates(evidence, loads), _lateness(evidence, loads[-1]), _errors(evidence)]
    except InsufficientData:
        return []


def _rates(evidence: Evidence, loads: Sequence[float]) -> str:
    lowest, highest = loads[0], loads[-1]
    tcp, mptcp = _both(evidence, highest)
    text = (
        f"At {highest:g} requests/s offered, MPTCP over two paths answers {mptcp:.0f} requests/s and TCP over one "
        f"{tcp:.0f} ({_difference(mptcp, tcp)})"
    )
    if lowest == highest:
        return f"{text}."
    tcp, mptcp = _both(evidence, lowest)
    return f"{text}; at {lowest:g} requests/s they answer {mptcp:.0f} and {tcp:.0f} ({_difference(mptcp, tcp)})."


def _both(evidence: Evidence, load: float) -> tuple[float, float]:
    """Returns the requests per second with TCP and with MPTCP."""
    at_load = evidence.where(load=load)
    return at_load.where(protocol="tcp").mean("requests_per_s"), at_load.where(protocol="mptcp").mean("requests_per_s")


def _difference(mptcp: float, tcp: float) -> str:
    return f"{100 * (mptcp / tcp - 1):+.0f} %" if tcp else "TCP none"


def _lateness(evidence: Evidence, load: float) -> str:
    words = []
    for protocol in ("tcp", "mptcp"):
        own = evidence.where(protocol=protocol, load=load)
        late_s = own.mean("run_time") - own.mean("schedule")
        words.append(f"{protocol.upper()} {f'ends {late_s:.1f} s after' if late_s > LATE_S else 'keeps'} its schedule")
    return f"There {' and '.join(words)}."


def _errors(evidence: Evidence) -> str:
    failed = {protocol: sum(evidence.where(protocol=protocol).values("errors")) for protocol in ("tcp", "mptcp")}
    if not any(failed.values()):
        return f"No request failed in {counted(len(evidence.cells), 'cell')}."
    return f"Requests that failed: {failed['tcp']:.0f} with TCP, {failed['mptcp']:.0f} with MPTCP."


def _what_matters(cells: Sequence[CellResult]) -> list[str]:
    """Returns a sentence for each factor, with its greatest effect on the throughput at the highest load."""
    sentences = []
    for factor, of_factor in itertools.groupby(effects(cells), key=lambda effect: effect.factor):
        strongest = sorted(of_factor, key=lambda effect: abs(effect.change.value), reverse=True)
        name, most = factor.replace("_", " ").capitalize(), strongest[0]
        if named := [effect for effect in strongest if effect.matters]:
            changes = "; ".join(_effect_text(effect) for effect in named[:_MAX_NAMED])
            sentences.append(f"{name} matters: {changes}.")
        else:
            sentences.append(f"{name} does not matter (at most {percent_text(most.change)}).")
    return sentences


def _effect_text(effect: Effect) -> str:
    return f"{effect.protocol.upper()} {percent_text(effect.change)} with {effect.value} instead of {effect.usual}"
