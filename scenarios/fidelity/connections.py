"""Judges the congestion control of the connections; a kernel may silently use another than the one that was set."""

from collections.abc import Mapping

from results.records import Verdict
from scenarios.fidelity.findings import Finding


def judge_congestion_control(in_use: Mapping[str, Mapping[str, int]], expected: str | None) -> list[Finding]:
    """Findings on the congestion control of the connections.

    Args:
        in_use: per host, how many connections used which algorithm during the load.
        expected: the algorithm for all connections; None if any may be used.
    """
    if expected is None:
        return []
    if not any(in_use.values()):
        return [Finding(Verdict.DEGRADED, f"the congestion control of the connections ({expected}) was not recorded")]
    others = {host: {name: n for name, n in counts.items() if name != expected} for host, counts in in_use.items()}
    return [
        Finding(
            Verdict.DEGRADED,
            f"host {host}: {sum(counts.values())} connections used {', '.join(counts)} instead of {expected}",
        )
        for host, counts in others.items()
        if counts
    ]
