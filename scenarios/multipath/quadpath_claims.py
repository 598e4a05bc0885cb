"""The claims of Szilágyi and Bordán (2020) on congestion controls over four paths.

The paper measures every algorithm in every configuration and says what holds "in each case". Each case is judged by
itself, so that most claims need all configurations: the full form.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

from results.records import CellResult
from results.statistics.estimates import Estimate, relative_deviation
from scenarios.framework.claims import ClaimCheck, Evidence, InsufficientData, Outcome
from scenarios.framework.judging import (
    ABOUT_PERCENT,
    ALIKE,
    EQUAL_PERCENT,
    LESS,
    MORE,
    ONE_REPETITION,
    Found,
    Range,
    about,
    change,
    claim,
    direction_and_size,
    found,
    growth,
    judge,
    level,
    of_ratio,
    sample,
)
from scenarios.multipath.multipath import BASELINE, MPTCPS, TUNNELS

PATHS = 4
PAPERS = ("cubic", "reno", "illinois", "scalable", "veno", "highspeed", "vegas")
ALL_BUT_VEGAS = PAPERS[:-1]

PLAIN = "tun4_path4_plain"
"""A tunnel that works as the paper's did: a packet per system call, and no reordering buffer."""

CLAIMED_MBPS = 360.0
VEGAS_MBPS, VEGAS_WITHIN_MBPS = 100.0, 10.0
"""It "fluctuated around" this, without digits."""

DEVIATION_PERCENT = 1.5
"""What is rounded to one per cent."""

_ABOUT_CLAIMED = about(CLAIMED_MBPS, ABOUT_PERCENT / 100 * CLAIMED_MBPS)
_ABOUT_ONE_PATH = about(VEGAS_MBPS, VEGAS_WITHIN_MBPS)
_TESTS = {"goodput": "iperf3", "ftp_goodput": "FTP"}
_DRAWN = "tun4_path4"
"""The tunnel whose downloads the paper draws over time, beside those over one path."""


def quadpath_claims() -> tuple[ClaimCheck, ...]:
    """All claims of the paper, and one of ours."""
    return (*_throughput(), *_downloads(), *_families(), *_processors(), *_repetitions())


def _throughput() -> Iterable[ClaimCheck]:
    expected, form = f"{CLAIMED_MBPS:g} Mbit/s ± {ABOUT_PERCENT:g} %, each", "{:.0f} Mbit/s"
    of_vegas = f"{VEGAS_MBPS:g} ± {VEGAS_WITHIN_MBPS:g} Mbit/s"
    yield claim(
        f"iperf3, MPT-GRE: every algorithm but Vegas reaches about {CLAIMED_MBPS:g} Mbit/s",
        expected,
        partial(_rates, configurations=TUNNELS, algorithms=ALL_BUT_VEGAS),
        _ABOUT_CLAIMED,
        form=form,
    )
    yield claim(
        f"iperf3, MPTCP: every algorithm reaches about {CLAIMED_MBPS:g} Mbit/s",
        expected,
        partial(_rates, configurations=MPTCPS, algorithms=PAPERS),
        _ABOUT_CLAIMED,
        form=form,
    )
    for metric, test in _TESTS.items():
        yield claim(
            f"{test}, MPT-GRE: Vegas is slower than every other algorithm",
            "slower, in every tunnel",
            partial(_against_each, algorithm="vegas", configurations=TUNNELS, metric=metric),
            LESS,
        )
    for sentence, configurations in (
        ("iperf3: Vegas in the tunnel stays at about one path", TUNNELS),
        ("the same in a tunnel that works as the paper's did (ours)", (PLAIN,)),
    ):
        yield claim(
            sentence,
            of_vegas,
            partial(_rates, configurations=configurations, algorithms=("vegas",)),
            _ABOUT_ONE_PATH,
            form=form,
        )


def _downloads() -> Iterable[ClaimCheck]:
    """What the paper says of downloads through one tunnel, against those over one path."""
    yield from direction_and_size(
        "FTP with Vegas: MPT-GRE is faster than one path",
        partial(_against_one_path, metric="ftp_goodput", algorithm="vegas"),
        10.0,
        ABOUT_PERCENT,
        stated="only about ten per cent",
    )
    yield from direction_and_size(
        "FTP with cubic: a download takes less time than over one path",
        partial(_against_one_path, metric="ftp_download", algorithm="cubic"),
        -75.0,
        of_ratio(-75, ABOUT_PERCENT),
        stated="a quarter",
    )
    yield from direction_and_size(
        "FTP with cubic: the throughput is higher than over one path",
        partial(_against_one_path, metric="ftp_goodput", algorithm="cubic"),
        300.0,
        of_ratio(300, ABOUT_PERCENT),
        stated=f"{PATHS} times",
    )
    yield claim(
        "FTP: cubic gives the highest throughput",
        "cubic first, in the tunnel and with MPTCP",
        partial(_against_each, algorithm="cubic", configurations=(_DRAWN, "mptcp4"), metric="ftp_goodput"),
        MORE,
    )


def _families() -> Iterable[ClaimCheck]:
    sentence, members = "FTP: MPTCP is slightly faster over IPv6 than over IPv4", _ipv6
    yield claim(sentence, "more, with every algorithm", members, MORE)
    yield claim(f"{sentence}: by how much", f"up to {ABOUT_PERCENT:g} %", members, Range(EQUAL_PERCENT, ABOUT_PERCENT))
    yield claim(
        f"FTP: over IPv6 MPTCP reaches more than {CLAIMED_MBPS:g} Mbit/s",
        "more, with every algorithm",
        partial(_rates, configurations=("mptcp6",), algorithms=PAPERS, metric="ftp_goodput"),
        Range(least=CLAIMED_MBPS),
        form="{:.0f} Mbit/s",
    )


def _processors() -> Iterable[ClaimCheck]:
    """The paper compares processors over IPv6, by iperf3."""
    yield claim(
        "MPTCP takes less processor time than MPT-GRE",
        "MPT-GRE more, with every algorithm but Vegas, over IPv6",
        partial(_costs, algorithms=ALL_BUT_VEGAS),
        MORE,
        needs_real_clock=True,
    )
    yield claim(
        "with Vegas MPTCP and MPT-GRE take the same processor time",
        f"within {ABOUT_PERCENT:g} %, over IPv6",
        partial(_costs, algorithms=("vegas",)),
        ALIKE,
        needs_real_clock=True,
    )
    yield claim(
        "with Vegas the processor time of MPT-GRE oscillates, over IPv6",
        "changes from second to second larger than with MPTCP",
        lambda evidence: {"": found(lambda: _oscillation(evidence))},
        MORE,
        needs_real_clock=True,
    )


def _repetitions() -> Iterable[ClaimCheck]:
    yield ClaimCheck(
        "repetitions deviate by one per cent at most",
        f"less than {DEVIATION_PERCENT:g} %, with every algorithm in every configuration, by iperf3 and FTP",
        _deviation,
    )


def _rates(
    evidence: Evidence, configurations: Sequence[str], algorithms: Sequence[str], metric: str = "goodput"
) -> dict[str, Found]:
    """The throughput in Mbit/s of each algorithm in each configuration."""
    return {
        f"{algorithm}, {configuration}": level(
            evidence, metric, scale=1e-6, configuration=configuration, congestion_control=algorithm
        )
        for configuration, algorithm in product(configurations, algorithms)
    }


def _against_each(evidence: Evidence, algorithm: str, configurations: Sequence[str], metric: str) -> dict[str, Found]:
    """How far an algorithm is above each other one in each configuration."""
    others = [name for name in PAPERS if name != algorithm]
    return {
        f"{other}, {configuration}": change(
            evidence,
            metric,
            {"configuration": configuration, "congestion_control": other},
            {"configuration": configuration, "congestion_control": algorithm},
        )
        for configuration, other in product(configurations, others)
    }


def _against_one_path(evidence: Evidence, metric: str, algorithm: str) -> dict[str, Found]:
    alone, tunnel = ({"configuration": name, "congestion_control": algorithm} for name in (BASELINE, _DRAWN))
    return {"": change(evidence, metric, alone, tunnel)}


def _ipv6(evidence: Evidence) -> dict[str, Found]:
    return {
        name: change(
            evidence,
            "ftp_goodput",
            *({"configuration": configuration, "congestion_control": name} for configuration in ("mptcp4", "mptcp6")),
        )
        for name in PAPERS
    }


def _costs(evidence: Evidence, algorithms: Sequence[str]) -> dict[str, Found]:
    """How far the processor time of the tunnel is above that of MPTCP."""
    return {
        name: change(
            evidence,
            "cpu_total",
            *({"configuration": kind, "congestion_control": name} for kind in ("mptcp6", "tun6_path6")),
        )
        for name in algorithms
    }


def _oscillation(evidence: Evidence) -> Estimate:
    """How far the changes of the load from second to second are larger in the tunnel than with MPTCP."""
    samples = []
    for configuration in ("mptcp6", "tun6_path6"):
        cells = evidence.where(configuration=configuration, congestion_control="vegas").cells
        samples.append(values := [value for cell in cells if (value := _mean_change(cell)) is not None])
        if not values:
            raise InsufficientData(f"configuration={configuration} congestion_control=vegas was not measured")
    return growth(*samples)


def _mean_change(cell: CellResult) -> float | None:
    """The mean change of the busy share of all processors between two samples; one step in load changes it little."""
    busy = cell.measurement.series.get("busy")
    if busy is None or len(busy.values) < 2:
        return None
    changes = [abs(after - before) for before, after in pairwise(busy.values)]
    return sum(changes) / len(changes)


def _deviation(evidence: Evidence) -> Outcome:
    """The deviation of the repetitions, in each case and of both throughputs."""
    cases = {
        f"{_TESTS[metric]}, {algorithm}, {configuration}": _deviation_of(evidence, metric, configuration, algorithm)
        for metric, configuration, algorithm in product(_TESTS, (*TUNNELS, *MPTCPS), PAPERS)
    }
    outcome = judge(cases, Range(most=DEVIATION_PERCENT), "{:.1f} %")
    has_one = outcome.why == ONE_REPETITION  # which deviates from nothing
    return replace(outcome, measured="") if has_one else outcome


def _deviation_of(evidence: Evidence, metric: str, configuration: str, algorithm: str) -> Found:
    point = {"configuration": configuration, "congestion_control": algorithm}
    return found(lambda: relative_deviation(sample(evidence, metric, point)))
