"""Claims about steering policies: what each of them is for."""

import statistics
from functools import partial

from results.statistics.estimates import ratio_of_means
from scenarios.framework.claims import ClaimCheck, Evidence, InsufficientData, Outcome, reproduced_if
from topologies.links.spec import PAYLOAD_SHARE

PATH_BPS = 20e6 * PAYLOAD_SHARE
"""The most payload that one of the equal paths can carry."""

GAIN_SHARE = 0.9
"""Of the most payload of all paths; slow start and the last packets on the weakest path take the rest."""

NO_GAIN = 1.1
FAST_RECOVERY_MS = 1000.0
"""TCP itself leaves a dead path after timeouts that begin at 200 ms or more and double each time."""


def steering_claims() -> list[ClaimCheck]:
    """All claims of the scenario."""
    return [
        ClaimCheck(
            "subflows over disjoint equal paths get the sum of them",
            f"at least {GAIN_SHARE:.0%} of the paths used",
            _sum_of_paths,
        ),
        ClaimCheck(
            "subflows that are all on one path gain nothing (control)", f"at most {NO_GAIN:g} times one path", _control
        ),
        ClaimCheck(
            "knowing the connection beats hashing its subflows (ecmp)",
            "disjoint at least as fast, on equal paths",
            partial(_against, policy="disjoint", other="ecmp", protocol="mptcp", at_least=0.98),
        ),
        ClaimCheck(
            "for parallel connections, each on one path, least-loaded is faster than the same path for all",
            "least-loaded faster than single, on equal paths",
            partial(_against, policy="least-loaded", other="single", protocol="tcp", at_least=1.1),
        ),
        ClaimCheck(
            "after a cut the controller moves the connection before TCP gives up on the path",
            f"silent for less than {FAST_RECOVERY_MS:g} ms",
            partial(_recovered, metric="silence_cut"),
        ),
        ClaimCheck(
            "a black hole, which no switch reports, is found, and the connection moved",
            f"silent for less than {FAST_RECOVERY_MS:g} ms",
            partial(_recovered, metric="silence_black_hole"),
        ),
    ]


def _goodputs(evidence: Evidence, policy: str, protocol: str) -> list[float]:
    return evidence.where(paths="equal", policy=policy, protocol=protocol, flows=4).values("goodput")


def _sum_of_paths(evidence: Evidence) -> Outcome:
    goodputs = _goodputs(evidence, "disjoint", "mptcp")
    share = statistics.fmean(goodputs) / (4 * PATH_BPS)
    return reproduced_if(share >= GAIN_SHARE, f"{share:.1%} of four paths", f"{len(goodputs)} cells with four subflows")


def _control(evidence: Evidence) -> Outcome:
    ratio = statistics.fmean(_goodputs(evidence, "single", "mptcp")) / PATH_BPS
    return reproduced_if(ratio <= NO_GAIN, f"{ratio:.2f} times one path")


def _against(evidence: Evidence, policy: str, other: str, protocol: str, at_least: float) -> Outcome:
    ratio = ratio_of_means(_goodputs(evidence, policy, protocol), _goodputs(evidence, other, protocol))
    interval = "" if ratio.low is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    return reproduced_if(ratio.value >= at_least, f"{ratio.value:.2f} times {other}{interval}")


def _recovered(evidence: Evidence, metric: str) -> Outcome:
    steered = evidence.where(policy="disjoint").values(metric)
    try:
        unsteered = f"; without steering {max(evidence.where(policy='none').values(metric)):.0f} ms"
    except InsufficientData:
        unsteered = ""
    worst = max(steered)
    return reproduced_if(
        worst < FAST_RECOVERY_MS,
        f"{statistics.median(steered):.0f} ms in the median, {worst:.0f} ms at worst{unsteered}",
        f"{len(steered)} cells of the policy disjoint, TCP and MPTCP",
    )
