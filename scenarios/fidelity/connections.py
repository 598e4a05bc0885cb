"""Judges what connections really used: a kernel takes another congestion control in silence."""

from collections.abc import Mapping

from results.records import Verdict
from scenarios.fidelity.findings import Finding


def judge_congestion_control(in_use: Mapping[str, Mapping[str, int]], asked: str | None) -> list[Finding]:
    """Findings on the congestion control of the connections: any other than the one asked for makes another experiment.

    Args:
        in_use: per host, how many connections used which algorithm during the load.
        asked: the one that all should have used; None if none was asked for.
    """
    if asked is None:
        return []
    if not any(in_use.values()):
        return [(Verdict.DEGRADED, f"no connection was seen to use {asked}: the congestion control was not recorded")]
    wrong = {host: {name: n for name, n in counts.items() if name != asked} for host, counts in in_use.items()}
    return [
        (Verdict.DEGRADED, f"{host}: {sum(counts.values())} connections used {', '.join(counts)} instead of {asked}")
        for host, counts in wrong.items()
        if counts
    ]
