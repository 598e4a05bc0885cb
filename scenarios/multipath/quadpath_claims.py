"""The claims of Szilágyi and Bordán (2020) on congestion controls over four paths.

The paper measures every algorithm in every configuration and says what holds "in each case". Each case is judged by
itself, so that most claims need all configurations: the full form.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

from experiments.claims import ClaimCheck, Evidence, InsufficientData, Outcome
from experiments.judging import (
    ABOUT_PERCENT,
    ALIKE,
    EQUAL_PERCENT,
    LESS,
    MORE,
    ONE_REPETITION,
    Found,
    Point,
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
from results.records import CellResult
from results.statistics.estimates import Estimate, relative_deviation
from scenarios.multipath.multipath import BASELINE, MPTCPS, TUNNELS

PATHS = 4
PAPERS = ("cubic", "reno", "illinois", "scalable", "veno", "highspeed", "vegas")
ALL_BUT_VEGAS = PAPERS[:-1]

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

_DRAWN6 = ("mptcp6", "tun6_path6")
"""The configurations whose processor time the paper draws, in Figures 5 to 7."""

UDP_MBPS, UDP_LOST_PERCENT = 300.0, 0.1
"""UDP rate that needs more than three of the four paths, and the tolerated loss at 90 % of all paths' capacity."""


def quadpath_claims() -> tuple[ClaimCheck, ...]:
    """Returns all claims of the paper, and some of ours."""
    return (
        *_throughput(),
        *_downloads(),
        *_families(),
        *_datagrams(),
        *_processors(),
        *_numbers_of_paths(),
        ClaimCheck(
            "repetitions deviate by one per cent at most",
            f"less than {DEVIATION_PERCENT:g} %, with every algorithm in every configuration, by iperf3 and FTP",
            _deviation,
        ),
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
            partial(_against_each, algorithm="vegas", configurations=TUNNELS, metric=metric),
            LESS,
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
        )


def _downloads() -> Iterable[ClaimCheck]:
    """Yields the claims about downloads through one tunnel against those over one path."""
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


def _processors() -> Iterable[ClaimCheck]:
    """Yields the claims about processor time, which the paper compares over IPv6, by iperf3."""
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


def _numbers_of_paths() -> Iterable[ClaimCheck]:
    """Yields the claims about an "almost linear increase of CPU utilization with the number of … paths used"."""
    sentence = "processor time increases with the number of paths"
    yield claim(
        sentence,
        "more over four than over one, with cubic over IPv6",
        _from_one_path_to_all,
        MORE,
        needs_real_clock=True,
    )
    yield claim(
        f"{sentence}: almost linearly",
        f"within {ABOUT_PERCENT:g} % of a straight line from one path to four",
        _off_the_line,
        ALIKE,
        needs_real_clock=True,
    )


def _cells(configuration: str, algorithm: str, paths: int = PATHS) -> Point:
    return {"configuration": configuration, "congestion_control": algorithm, "paths": paths}


def _rates(
    evidence: Evidence,
    configurations: Sequence[str],
    algorithms: Sequence[str],
    metric: str = "goodput",
    scale: float = 1e-6,
) -> dict[str, Found]:
    """Returns the throughput in Mbit/s, or another metric, of each algorithm in each configuration."""
    return {
        f"{algorithm}, {configuration}": level(evidence, metric, scale=scale, **_cells(configuration, algorithm))
        for configuration, algorithm in product(configurations, algorithms)
    }


def _against_each(evidence: Evidence, algorithm: str, configurations: Sequence[str], metric: str) -> dict[str, Found]:
    """Returns the lead of an algorithm over each other one in each configuration."""
    others = [name for name in PAPERS if name != algorithm]
    return {
        f"{other}, {configuration}": change(
            evidence, metric, _cells(configuration, other), _cells(configuration, algorithm)
        )
        for configuration, other in product(configurations, others)
    }


def _against_one_path(evidence: Evidence, metric: str, algorithm: str) -> dict[str, Found]:
    return {"": change(evidence, metric, _cells(BASELINE, algorithm), _cells(_DRAWN, algorithm))}


def _ipv6(evidence: Evidence) -> dict[str, Found]:
    return {
        name: change(evidence, "ftp_goodput", *(_cells(configuration, name) for configuration in MPTCPS))
        for name in PAPERS
    }


def _costs(evidence: Evidence, algorithms: Sequence[str]) -> dict[str, Found]:
    """Returns the change of the processor time from MPTCP to the tunnel, by algorithm."""
    return {
        name: change(evidence, "cpu_total", *(_cells(configuration, name) for configuration in _DRAWN6))
        for name in algorithms
    }


def _from_one_path_to_all(evidence: Evidence) -> dict[str, Found]:
    return {
        name: change(evidence, "cpu_total", _cells(name, "cubic", 1), _cells(name, "cubic", PATHS)) for name in _DRAWN6
    }


def _off_the_line(evidence: Evidence) -> dict[str, Found]:
    """Returns the distance of the processor time over two and three paths from the line through one and four."""
    return {
        f"{paths} paths, {name}": found(partial(_distance, evidence, name, paths))
        for name, paths in product(_DRAWN6, range(2, PATHS))
    }


def _distance(evidence: Evidence, configuration: str, paths: int) -> Estimate:
    first, here, last = (
        sample(evidence, "cpu_total", _cells(configuration, "cubic", number)) for number in (1, paths, PATHS)
    )
    share = (paths - 1) / (PATHS - 1)
    line = [one + share * (all_paths - one) for one, all_paths in zip(first, last, strict=False)]
    return growth(line, here)


def _oscillation(evidence: Evidence) -> Estimate:
    """Returns the growth, from MPTCP to the tunnel, of the load's changes from second to second."""
    samples = []
    for configuration in _DRAWN6:
        cells = evidence.where(**_cells(configuration, "vegas")).cells
        samples.append(values := [value for cell in cells if (value := _mean_change(cell)) is not None])
        if not values:
            raise InsufficientData(f"configuration={configuration} congestion_control=vegas was not measured")
    return growth(*samples)


def _mean_change(cell: CellResult) -> float | None:
    """Returns the mean change of the busy share between two samples, which a single step of the load changes little."""
    busy = cell.measurement.series.get("busy")
    if busy is None or len(busy.values) < 2:
        return None
    changes = [abs(after - before) for before, after in pairwise(busy.values)]
    return sum(changes) / len(changes)


def _deviation(evidence: Evidence) -> Outcome:
    """Judges the deviation of the repetitions, in each case and of both throughputs."""
    cases = {
        f"{_TESTS[metric]}, {algorithm}, {configuration}": _deviation_of(evidence, metric, configuration, algorithm)
        for metric, configuration, algorithm in product(_TESTS, (*TUNNELS, *MPTCPS), PAPERS)
    }
    outcome = judge(cases, Range(most=DEVIATION_PERCENT), "{:.1f} %")
    has_one = outcome.why == ONE_REPETITION  # a single value has no deviation
    return replace(outcome, measured="") if has_one else outcome


def _deviation_of(evidence: Evidence, metric: str, configuration: str, algorithm: str) -> Found:
    return found(lambda: relative_deviation(sample(evidence, metric, _cells(configuration, algorithm))))
