"""The claims of Szilágyi et al. (2019) on one and two paths of 10 Gbit/s, and what a model predicts."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from experiments.claims import ClaimCheck, Evidence
from experiments.judging import (
    LESS,
    MORE,
    NOT_MORE,
    TWO_VALUES_PERCENT,
    Found,
    Members,
    Point,
    Range,
    about,
    change,
    claim,
    direction_and_size,
    found,
    growth,
    level,
    of_ratio,
    sample,
)
from results.records import ParameterValue
from scenarios.multipath.model_claims import ENDS, FITTED_GBPS, LINK_GBPS, PREDICTED, SERVERS_THREADS, of_model
from scenarios.multipath.multipath import BASELINE, MPTCPS, PROCESSOR_TIMES, TUNNELS

PLAIN = "tun4_path6_plain"
"""Fastest tunnel, but working as the paper's did: a packet per system call, and no reordering buffer."""

PLAIN_IPV6 = "tun6_path6_plain"
"""The same over IPv6 alone, whose processor time the paper draws."""

TITLES: Mapping[ParameterValue, str] = {1: "one path", 2: "two paths"}
_SECOND_PATH = "iperf3: a second path does not make MPT-GRE faster"
_MPTCP_FASTER = "iperf3, two paths: MPTCP is faster than MPT-GRE"
_SLOWER_BY_FTP = "FTP: MPT-GRE over two paths is slower than TCP over one"
_NO_MORE_TIME = "over IPv6, a second path costs MPT-GRE no more processor time"
_NO_MORE_TIME_VALUES = f"within {TWO_VALUES_PERCENT:g} % (23.3 and 23.4 % of the machine)"


def _change(metric: str, *compared: tuple[str, int]) -> Members:
    """Returns the change from one configuration to another, over one or two paths each.

    It is judged as a ratio, because the paper's absolute values are those of other machines.
    """
    before, after = map(_cells, compared)
    return lambda evidence: {"": change(evidence, metric, before, after)}


def _costs(*compared: tuple[str, int]) -> Members:
    """Returns the same change of the processor time, by what is counted."""
    before, after = map(_cells, compared)
    return lambda evidence: {name: change(evidence, metric, before, after) for name, metric in PROCESSOR_TIMES.items()}


def _cells(compared: tuple[str, int]) -> Point:
    configuration, paths = compared
    return {"configuration": configuration, "paths": paths}


def _over_ipv6(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of the processor time from each other configuration to IPv6 everywhere."""
    pairs = [*((name, "tun6_path6") for name in TUNNELS[:-1]), MPTCPS]
    return {
        f"{after} over {before}, {TITLES[paths]}, {counted}": found_at
        for before, after in pairs
        for paths in (1, 2)
        for counted, found_at in _costs((before, paths), (after, paths))(evidence).items()
    }


def _lead(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of MPTCP's lead over the tunnel, over two paths, from iperf3 to FTP."""

    def leads(metric: str) -> list[float]:
        tunnel, mptcp = (sample(evidence, metric, _cells((name, 2))) for name in ("tun4_path4", "mptcp4"))
        return [fast / slow for slow, fast in zip(tunnel, mptcp, strict=False)]

    return {"": found(lambda: growth(leads("goodput"), leads("ftp_goodput")))}


def _stated(
    sentence: str,
    values: str,
    percent: float,
    members: Members,
    *,
    direction: Range | None = None,
    of_network: bool = False,
) -> tuple[ClaimCheck, ClaimCheck]:
    """Makes the claims of the paper about two configurations, with its values for both.

    Most follow from what processors can carry: those of a tunnel in user space, and those of one server.
    """
    within = of_ratio(percent, TWO_VALUES_PERCENT)
    return direction_and_size(
        sentence, members, percent, within, direction=direction, stated=values, needs_real_clock=not of_network
    )


def _ahead(evidence: Evidence, metric: str, numbers: Sequence[int]) -> dict[str, Found]:
    """Returns the lead of IPv4 in the tunnel and IPv6 outside over each other tunnel."""
    best, *others = sorted(TUNNELS, key=lambda name: name != "tun4_path6")
    return {
        f"over {other}, {TITLES[paths]}": change(
            evidence, metric, {"configuration": other, "paths": paths}, {"configuration": best, "paths": paths}
        )
        for other in others
        for paths in numbers
    }


def _of_plain_tunnel(evidence: Evidence) -> dict[str, Found]:
    """Returns the change to the paper's kind of tunnel: a system call per packet can explain its 4.1 Gbit/s."""
    return {
        TITLES[paths]: change(
            evidence, "goodput", *({"configuration": name, "paths": paths} for name in ("tun4_path6", PLAIN))
        )
        for paths in TITLES
    }


def _predictions() -> Iterable[ClaimCheck]:
    """Yields what the model says, which is fitted to one path and iperf3 alone.

    All of it are ratios, so that they are the same where all times are ten times as long.
    """
    fitted = 100 * (FITTED_GBPS / LINK_GBPS - 1)
    within = of_ratio(fitted, TWO_VALUES_PERCENT)
    yield claim(
        f"{PREDICTED}: over one path MPT-GRE is as fast as the model was fitted to",
        f"{fitted:+.3g} ± {within:.2g} % from TCP without a tunnel ({LINK_GBPS:.2f} to {FITTED_GBPS:g} Gbit/s)",
        of_model(_change("goodput", (BASELINE, 1), (PLAIN, 1))),
        about(fitted, within),
    )
    two_paths = (PLAIN, 2)
    for sentence, values, percent, members in (
        (_SECOND_PATH, "4.14 to 3.83 Gbit/s", -7.5, _change("goodput", (PLAIN, 1), two_paths)),
        (_MPTCP_FASTER, "3.83 to 18.4 Gbit/s", 380.4, _change("goodput", two_paths, ("mptcp4", 2))),
        (_SLOWER_BY_FTP, "8.78 to 2.97 Gbit/s", -66.2, _change("ftp_goodput", (BASELINE, 1), two_paths)),
    ):
        yield from _stated(
            f"{PREDICTED}: {sentence}",
            values,
            percent,
            of_model(members),
            direction=NOT_MORE if sentence == _SECOND_PATH else None,
            of_network=True,
        )
    for paths, percent in ((1, 23.3), (2, 23.4)):
        sentence = f"{PREDICTED}: over IPv6 and {TITLES[paths]}, the tunnel takes no more than a server in all"
        stated, within = f"{percent:g} % of the machine", TWO_VALUES_PERCENT / 100 * percent
        for words, expected, wanted in (
            (sentence, f"at most {stated}", Range(most=percent)),
            (f"{sentence}: by how much", f"{stated} ± {within:.2g}", about(percent, within)),
        ):
            yield claim(words, expected, of_model(partial(_modelled_shares, paths=paths)), wanted, form="{:.1f} %")
    before, after = (_cells((PLAIN_IPV6, paths)) for paths in (1, 2))
    yield claim(
        f"{PREDICTED}: {_NO_MORE_TIME}",
        _NO_MORE_TIME_VALUES,
        of_model(lambda evidence: {end: change(evidence, metric, before, after) for end, metric in ENDS.items()}),
        about(0.4, TWO_VALUES_PERCENT),
    )


def _modelled_shares(evidence: Evidence, paths: int) -> dict[str, Found]:
    """Returns the share that the tunnel's packets take of a server's processors, at each end."""
    return {
        end: level(evidence, metric, scale=1 / SERVERS_THREADS, **_cells((PLAIN_IPV6, paths)))
        for end, metric in ENDS.items()
    }


TENGBE_CLAIMS = (
    *_stated(
        _SECOND_PATH,
        "4.14 to 3.83 Gbit/s",
        -7.5,
        _change("goodput", ("tun4_path6", 1), ("tun4_path6", 2)),
        direction=NOT_MORE,
    ),
    *_stated(
        "iperf3: a second path makes MPTCP faster",
        "9.22 to 18.4 Gbit/s",
        99.6,
        _change("goodput", ("mptcp4", 1), ("mptcp4", 2)),
        of_network=True,
    ),
    *_stated(
        "iperf3, one path: MPTCP is faster than MPT-GRE",
        "4.14 to 9.22 Gbit/s",
        122.7,
        _change("goodput", ("tun4_path6", 1), ("mptcp4", 1)),
    ),
    *_stated(
        _MPTCP_FASTER,
        "3.83 to 18.4 Gbit/s",
        380.4,
        _change("goodput", ("tun4_path6", 2), ("mptcp4", 2)),
    ),
    *_stated(
        "FTP, two paths: MPTCP is faster than MPT-GRE",
        "2.94 to 5.93 Gbit/s",
        101.7,
        _change("ftp_goodput", ("tun4_path4", 2), ("mptcp4", 2)),
    ),
    *_stated(
        _SLOWER_BY_FTP,
        "8.78 to 2.94 Gbit/s",
        -66.5,
        _change("ftp_goodput", (BASELINE, 1), ("tun4_path4", 2)),
    ),
    *_stated(
        "FTP: MPTCP over two paths is slower than TCP over one",
        "8.78 to 5.93 Gbit/s",
        -32.5,
        _change("ftp_goodput", (BASELINE, 1), ("mptcp4", 2)),
    ),
    *_stated(
        "FTP, two paths: MPTCP is faster over IPv6 than over IPv4",
        "5.93 to 6.13 Gbit/s",
        3.4,
        _change("ftp_goodput", ("mptcp4", 2), ("mptcp6", 2)),
    ),
    *_stated(
        "over IPv6 and one path, MPT-GRE takes more processor time than MPTCP",
        "8.7 to 23.3 % of the machine",
        167.8,
        _costs(("mptcp6", 1), ("tun6_path6", 1)),
    ),
    *_stated(
        "over IPv6 and two paths, MPT-GRE takes more processor time than MPTCP",
        "13.7 to 23.4 % of the machine",
        70.8,
        _costs(("mptcp6", 2), ("tun6_path6", 2)),
    ),
    *_stated(
        "over IPv6, a second path costs MPTCP more processor time",
        "8.7 to 13.7 % of the machine",
        57.5,
        _costs(("mptcp6", 1), ("mptcp6", 2)),
    ),
    claim(
        "iperf3: a tunnel that works as the paper's did is slower than one with offloads (ours)",
        "slower, over one path and two",
        _of_plain_tunnel,
        LESS,
        needs_real_clock=True,
    ),
    claim(
        _NO_MORE_TIME,
        _NO_MORE_TIME_VALUES,
        _costs(("tun6_path6", 1), ("tun6_path6", 2)),
        about(0.4, TWO_VALUES_PERCENT),
        needs_real_clock=True,
    ),
    claim(
        "processor time is highest over IPv6",
        "more than over IPv4 inside, outside or both, over one path and two",
        _over_ipv6,
        MORE,
        needs_real_clock=True,
    ),
    claim(
        "two paths: MPTCP leads MPT-GRE by less with FTP than with iperf3",
        "a smaller ratio",
        _lead,
        LESS,
        needs_real_clock=True,
    ),
    claim(
        "iperf3: MPT-GRE is fastest with IPv4 in the tunnel and IPv6 outside",
        "tun4_path6 first, over one path and two",
        partial(_ahead, metric="goodput", numbers=(1, 2)),
        MORE,
        needs_real_clock=True,
    ),
    claim(
        "FTP, two paths: MPT-GRE is fastest with IPv4 in the tunnel and IPv6 outside",
        "tun4_path6 first (2.97 to at most 2.94 Gbit/s)",
        partial(_ahead, metric="ftp_goodput", numbers=(2,)),
        MORE,
        needs_real_clock=True,
    ),
    *_predictions(),
)
