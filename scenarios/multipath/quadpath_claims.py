"""The claims of Szilágyi and Bordán (2020) on congestion controls over four paths.

The paper measures every algorithm in every configuration and says what holds "in each case". Each case is judged by
itself, so that most claims need all configurations: the full form.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from experiments.claims import ClaimCheck, Evidence, Outcome
from experiments.judging import (
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
from results.statistics.estimates import Estimate, difference, farthest, relative_deviation
from scenarios.multipath.model_claims import PREDICTED, of_model
from scenarios.multipath.multipath import BASELINE, MPTCPS, TUNNELS
from scenarios.multipath.processor_claims import processor_claims
from scenarios.multipath.quadpath_cases import ALL_BUT_VEGAS, PAPERS, PATHS, against_each, cells_of

PLAIN = "tun4_path4_plain"
"""A tunnel that works as the paper's did: a packet per system call, and no reordering buffer."""

CLAIMED_MBPS = 360.0
VEGAS_MBPS, VEGAS_WITHIN_MBPS = 100.0, 10.0
"""Rate around which the paper's Vegas "fluctuated", and our tolerance: the paper has no digits."""

DEVIATION_PERCENT = 1.5
"""Largest deviation that rounds to one per cent."""

_ABOUT_CLAIMED = about(CLAIMED_MBPS, ABOUT_PERCENT / 100 * CLAIMED_MBPS)
_ABOUT_ONE_PATH = about(VEGAS_MBPS, VEGAS_WITHIN_MBPS)
_TESTS = {"goodput": "iperf3", "ftp_goodput": "FTP"}
_DRAWN = "tun4_path4"
"""The tunnel whose downloads the paper draws over time, beside those over one path."""

UDP_MBPS, UDP_LOST_PERCENT = 300.0, 0.1
"""UDP rate that needs more than three of the four paths, and the tolerated loss at 90 % of all paths' capacity."""


def quadpath_claims() -> tuple[ClaimCheck, ...]:
    """Returns all claims of the paper, and some of ours."""
    return (
        *_throughput(),
        *_downloads(),
        *_families(),
        *_datagrams(),
        *processor_claims(),
        ClaimCheck(
            "repetitions deviate by one per cent at most",
            f"each less than {DEVIATION_PERCENT:g} % from their mean, with every algorithm in every configuration, "
            "by iperf3 and FTP",
            _deviation,
        ),
        *_predictions(),
    )


def _throughput() -> Iterable[ClaimCheck]:
    expected, form = f"{CLAIMED_MBPS:g} Mbit/s ± {ABOUT_PERCENT:g} %, each", "{:.0f} Mbit/s"
    of_vegas = f"{VEGAS_MBPS:g} ± {VEGAS_WITHIN_MBPS:g} Mbit/s"
    for sentence, configurations, algorithms in (
        ("iperf3, MPT-GRE: every algorithm but Vegas", TUNNELS, ALL_BUT_VEGAS),
        ("iperf3, MPTCP: every algorithm", MPTCPS, PAPERS),
    ):
        yield claim(
            f"{sentence} reaches about {CLAIMED_MBPS:g} Mbit/s",
            expected,
            partial(_rates, configurations=configurations, algorithms=algorithms),
            _ABOUT_CLAIMED,
            form=form,
        )
    for metric, test in _TESTS.items():
        yield claim(
            f"{test}, MPT-GRE: Vegas is slower than every other algorithm",
            "slower, in every tunnel",
            partial(against_each, algorithm="vegas", configurations=TUNNELS, metric=metric),
            LESS,
            needs_real_clock=True,
        )
    for sentence, tunnels in (
        ("iperf3: Vegas in the tunnel stays at about one path", TUNNELS),
        ("the same in a tunnel that works as the paper's did (ours)", (PLAIN,)),
    ):
        yield claim(
            sentence,
            of_vegas,
            partial(_rates, configurations=tunnels, algorithms=("vegas",)),
            _ABOUT_ONE_PATH,
            form=form,
            needs_real_clock=True,
        )


def _downloads() -> Iterable[ClaimCheck]:
    """Yields the claims about downloads through one tunnel against those over one path."""
    yield from direction_and_size(
        "FTP with Vegas: MPT-GRE is faster than one path",
        partial(_against_one_path, metric="ftp_goodput", algorithm="vegas"),
        10.0,
        ABOUT_PERCENT,
        stated="only about ten per cent",
        needs_real_clock=True,
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
        partial(against_each, algorithm="cubic", configurations=(_DRAWN, "mptcp4"), metric="ftp_goodput"),
        MORE,
    )
    yield claim(
        "FTP gives nearly the throughput of iperf3",
        f"within {ABOUT_PERCENT:g} %, with every algorithm in every configuration",
        _ftp_against_iperf3,
        ALIKE,
    )


def _families() -> Iterable[ClaimCheck]:
    sentence, members = "FTP: MPTCP is slightly faster over IPv6 than over IPv4", _ipv6
    yield claim(sentence, "more, with every algorithm", members, MORE)
    yield claim(f"{sentence}: by how much", f"up to {ABOUT_PERCENT:g} %", members, Range(EQUAL_PERCENT, ABOUT_PERCENT))
    yield claim(
        "FTP: MPTCP is more stable over IPv6 than over IPv4",
        f"repetitions deviate less, by more than {EQUAL_PERCENT:g} points, with every algorithm",
        _stability,
        LESS,
        form="{:+z.2f} points",
    )
    yield claim(
        f"FTP: over IPv6 MPTCP reaches more than {CLAIMED_MBPS:g} Mbit/s",
        "more, with every algorithm",
        partial(_rates, configurations=("mptcp6",), algorithms=PAPERS, metric="ftp_goodput"),
        Range(least=CLAIMED_MBPS),
        form="{:.0f} Mbit/s",
    )


def _datagrams() -> Iterable[ClaimCheck]:
    """Yields the claims about UDP, the paper's argument for a tunnel: MPTCP does not carry it."""
    yield claim(
        "UDP: MPT-GRE uses several paths (ours)",
        f"more than {UDP_MBPS:g} Mbit/s, in every tunnel",
        partial(_rates, configurations=TUNNELS, algorithms=("cubic",), metric="udp_goodput"),
        Range(least=UDP_MBPS),
        form="{:.0f} Mbit/s",
    )
    yield claim(
        "UDP: MPT-GRE loses none of 90 % of what the paths carry (ours)",
        f"at most {UDP_LOST_PERCENT:g} %, in every tunnel",
        partial(_rates, configurations=TUNNELS, algorithms=("cubic",), metric="udp_lost", scale=1),
        Range(most=UDP_LOST_PERCENT),
        form="{:.2f} %",
    )


def _predictions() -> Iterable[ClaimCheck]:
    """Yields what the model of a processor says of Vegas in a tunnel that works as the paper's did."""
    vegas, cubic = (cells_of(PLAIN, name) for name in ("vegas", "cubic"))
    yield claim(
        f"{PREDICTED}: iperf3, MPT-GRE: Vegas is slower than cubic",
        "slower",
        of_model(lambda evidence: {"": change(evidence, "goodput", cubic, vegas)}),
        LESS,
    )
    yield claim(
        f"{PREDICTED}: iperf3: Vegas in the tunnel stays at about one path",
        f"{VEGAS_MBPS:g} ± {VEGAS_WITHIN_MBPS:g} Mbit/s",
        of_model(partial(_rates, configurations=(PLAIN,), algorithms=("vegas",))),
        _ABOUT_ONE_PATH,
        form="{:.0f} Mbit/s",
    )
    yield from direction_and_size(
        f"{PREDICTED}: FTP with Vegas: MPT-GRE is faster than one path",
        of_model(lambda evidence: {"": change(evidence, "ftp_goodput", cells_of(BASELINE, "vegas"), vegas)}),
        10.0,
        ABOUT_PERCENT,
        stated="only about ten per cent",
    )


def _rates(
    evidence: Evidence,
    configurations: Sequence[str],
    algorithms: Sequence[str],
    metric: str = "goodput",
    scale: float = 1e-6,
) -> dict[str, Found]:
    """Returns the throughput in Mbit/s, or another metric, of each algorithm in each configuration."""
    return {
        f"{algorithm}, {configuration}": level(evidence, metric, scale=scale, **cells_of(configuration, algorithm))
        for configuration, algorithm in product(configurations, algorithms)
    }


def _against_one_path(evidence: Evidence, metric: str, algorithm: str) -> dict[str, Found]:
    return {"": change(evidence, metric, cells_of(BASELINE, algorithm), cells_of(_DRAWN, algorithm))}


def _ipv6(evidence: Evidence) -> dict[str, Found]:
    return {
        name: change(evidence, "ftp_goodput", *(cells_of(configuration, name) for configuration in MPTCPS))
        for name in PAPERS
    }


def _ftp_against_iperf3(evidence: Evidence) -> dict[str, Found]:
    def difference(configuration: str, algorithm: str) -> Estimate:
        cells = cells_of(configuration, algorithm)
        return growth(sample(evidence, "goodput", cells), sample(evidence, "ftp_goodput", cells))

    return {
        f"{algorithm}, {configuration}": found(partial(difference, configuration, algorithm))
        for configuration, algorithm in product((*TUNNELS, *MPTCPS), PAPERS)
    }


def _stability(evidence: Evidence) -> dict[str, Found]:
    """Returns by how many points of per cent each algorithm's repetitions deviate more over IPv6 than over IPv4."""

    def deviations(algorithm: str) -> Estimate:
        samples = [sample(evidence, "ftp_goodput", cells_of(family, algorithm)) for family in MPTCPS]
        return difference(*map(relative_deviation, samples))

    return {name: found(partial(deviations, name)) for name in PAPERS}


def _deviation(evidence: Evidence) -> Outcome:
    """Judges the repetition that is farthest from their mean, in each case and of both throughputs.

    Not their standard deviation: its interval is for normal values, and most downloads are alike, but for a few.
    """
    cases = {
        f"{_TESTS[metric]}, {algorithm}, {configuration}": _deviation_of(evidence, metric, configuration, algorithm)
        for metric, configuration, algorithm in product(_TESTS, (*TUNNELS, *MPTCPS), PAPERS)
    }
    outcome = judge(cases, Range(most=DEVIATION_PERCENT), "{:.1f} %")
    has_one = outcome.why == ONE_REPETITION  # a single value has no deviation
    return replace(outcome, measured="") if has_one else outcome


def _deviation_of(evidence: Evidence, metric: str, configuration: str, algorithm: str) -> Found:
    return found(lambda: farthest(sample(evidence, metric, cells_of(configuration, algorithm))))
