"""The claims about the transport league: our own, and those of a paper about processors."""

from experiments.claims import ClaimCheck, Evidence
from experiments.judging import ALIKE, LESS, MORE, Found, Members, Point, Range, change, claim, level
from results.statistics.estimates import Estimate
from services.quic.implementations import IMPLEMENTATIONS

MULTIPATH_QUICS = tuple(f"mpquic {name}" for name, each in IMPLEMENTATIONS.items() if each.multipath_draft)

SUM_PERCENT = 95.0
"""Share of the sum of both paths that counts as all of it."""

_COMPILED_QUIC = "quic noq"
_BULK: Point = {"workload": ("bulk", None)}
"""Downloads; runs before there were workloads have nothing else."""


def league_claims() -> tuple[ClaimCheck, ...]:
    """Returns the claims."""
    return (
        claim(
            "on two equal paths MPTCP and the best multipath QUIC get the sum",
            f"at least {SUM_PERCENT:g} % of the sum",
            _of_equal_paths,
            Range(least=SUM_PERCENT),
            form="{:.1f} %",
        ),
        claim(
            "the order of two unequal paths does not matter to MPTCP and multipath QUIC",
            "about the same goodput",
            _by_order,
            ALIKE,
        ),
        claim(
            "over 1 Gbit/s and 2 ms a download by QUIC is slower than by TCP",
            "less, by up to 45.2 % (QUIC is not quick enough, 2024)",
            _by_quic("goodput", "near"),
            LESS,
            needs_real_clock=True,
        ),
        claim(
            "at the same rate QUIC's receiver takes more processor time than TCP's",
            "more (QUIC is not quick enough, 2024)",
            _by_quic("cpu_receiver", "equal"),
            MORE,
            needs_real_clock=True,
        ),
    )


def _of_equal_paths(evidence: Evidence) -> dict[str, Found]:
    """Returns the share of the sum of two equal paths of MPTCP, and of the best multipath QUIC."""

    def share(transport: str) -> Found:
        return level(evidence, "share_of_sum", scale=1, transport=transport, paths="equal", **_BULK)

    quics = {name: share(name) for name in MULTIPATH_QUICS}
    best = max(quics, key=lambda name: found.value if isinstance(found := quics[name], Estimate) else -1.0)
    return {"mptcp": share("mptcp"), best: quics[best]}


def _by_quic(metric: str, paths: str) -> Members:
    """Returns what finds the change of a metric from TCP to QUIC, by the implementation that is compiled."""

    def members(evidence: Evidence) -> dict[str, Found]:
        tcp, quic = ({**_BULK, "paths": paths, "transport": name} for name in ("tcp", _COMPILED_QUIC))
        return {"": change(evidence, metric, tcp, quic)}

    return members


def _by_order(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of the goodput if the slower of two paths is the first."""
    orders = [{**_BULK, "paths": paths} for paths in ("unequal", "swapped")]
    transports = ("mptcp", *MULTIPATH_QUICS)
    return {
        name: change(evidence, "goodput", *({"transport": name, **order} for order in orders)) for name in transports
    }
