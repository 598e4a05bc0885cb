"""Claims about steering policies: the purpose of each."""

from functools import partial

from experiments.claims import ClaimCheck, Evidence
from experiments.judging import MORE, Found, Point, Range, change, claim, level
from topologies.links.spec import PAYLOAD_SHARE

PATH_BPS = 20e6 * PAYLOAD_SHARE
"""Maximum payload rate of one of the equal paths."""

GAIN_PERCENT = 90.0
"""Share of the maximum payload rate that counts as all of it: slow start and the last packets take the rest."""

NO_GAIN = 1.1
FAST_RECOVERY_MS = 1000.0
"""Maximum silence of a fast recovery: TCP's own timeouts begin at 200 ms or more, and double each time."""


def steering_claims() -> tuple[ClaimCheck, ...]:
    """Returns all claims of the scenario."""
    return (
        claim(
            "subflows over disjoint equal paths get the sum of them",
            f"at least {GAIN_PERCENT:g} % of four paths",
            lambda evidence: {"": level(evidence, "goodput", scale=25 / PATH_BPS, **_point("disjoint", "mptcp"))},
            Range(least=GAIN_PERCENT),
            form="{:.1f} %",
        ),
        claim(
            "subflows that are all on one path gain nothing (control)",
            f"at most {NO_GAIN:g} times one path",
            lambda evidence: {"": level(evidence, "goodput", scale=1 / PATH_BPS, **_point("single", "mptcp"))},
            Range(most=NO_GAIN),
            form="{:.2f} times",
        ),
        claim(
            "knowing the connection beats hashing its subflows (ecmp)",
            "disjoint faster, on equal paths",
            partial(_against, policy="disjoint", other="ecmp", protocol="mptcp"),
            MORE,
        ),
        claim(
            "for parallel connections, each on one path, least-loaded is faster than the same path for all",
            "least-loaded faster than single, on equal paths",
            partial(_against, policy="least-loaded", other="single", protocol="tcp"),
            MORE,
        ),
        *(
            claim(
                sentence,
                f"silent for less than {FAST_RECOVERY_MS:g} ms, with TCP and MPTCP, on all paths",
                partial(_silences, metric=metric),
                Range(most=FAST_RECOVERY_MS),
                form="{:.0f} ms",
            )
            for sentence, metric in (
                ("after a cut the controller moves the connection before TCP gives up on the path", "silence_cut"),
                ("a black hole, which no switch reports, is found, and the connection moved", "silence_black_hole"),
            )
        ),
    )


def _point(policy: str, protocol: str) -> Point:
    return {"paths": "equal", "policy": policy, "protocol": protocol, "flows": 4}


def _against(evidence: Evidence, policy: str, other: str, protocol: str) -> dict[str, Found]:
    return {"": change(evidence, "goodput", _point(other, protocol), _point(policy, protocol))}


def _silences(evidence: Evidence, metric: str) -> dict[str, Found]:
    """Returns the longest silence under the policy `disjoint`, for each load."""
    return {
        f"{protocol}, {paths} paths, {flows} flows": level(
            evidence, metric, policy="disjoint", protocol=protocol, paths=paths, flows=flows
        )
        for protocol in ("tcp", "mptcp")
        for paths in evidence.tried("paths")
        for flows in evidence.tried("flows")
    }
