"""Runs for the claims of the paper on MPTCP under load; in quick runs many claims are as in full ones."""

from results.records import ClaimVerdict
from tests.support.claim_cases.case import Case, Change, Point, Values, World, case, is_at, times, where

YES, UNDECIDED = ClaimVerdict.REPRODUCED, ClaimVerdict.NOT_DECIDED
LOADS = (50.0, 500.0, 571.0, 667.0, 800.0)
LOW, LOWEST, HIGHEST = LOADS[0], LOADS[1], LOADS[-1]
REQUESTS = 80_000
CAPACITY = 560.0
"""What one path carries, in requests/s."""

TCP_RATES = {50.0: 49.0, 500.0: 478.0, 571.0: 510.0, 667.0: 535.0, 800.0: 554.5}
MPTCP_RATES = {50.0: 50.0, 500.0: 536.0, 571.0: 600.0, 667.0: 700.0, 800.0: 804.0}


def _as_the_paper(point: Point) -> Values:
    """The growths of 50 and 16 %, and the lead of 45 %; what MPTCP's rates exceed is the paper's contradiction."""
    load, is_tcp = point["load"], point["protocol"] == "tcp"
    ramp = REQUESTS / load
    late_s = 10.0 if is_tcp else 1.0
    error_rate = 19.0 * load / 800 if is_tcp else 0.0
    return {
        "requests_per_s": (TCP_RATES if is_tcp else MPTCP_RATES)[load],
        "run_time": 165 + load / 25 if is_tcp and load >= LOWEST else ramp + 1 + late_s,
        "ramp": ramp,
        "schedule": ramp + 1,
        "error_rate": error_rate,
        "errors": error_rate * REQUESTS / 100,
        "request_size": 50e6 / 8 / CAPACITY,
        "path_capacity": CAPACITY,
        "throughput_h1_h2_mean": (TCP_RATES if is_tcp else MPTCP_RATES)[load] * 90e3,
    }


def _rate(factor: float, protocol: str, load: float) -> Case:
    """A rate that is so many times as large, against as much as before, or as much as the other protocol's."""
    point = {"protocol": protocol, "load": load}
    return case(point, times("requests_per_s", factor), tie=_alike)


def _alike(point: Point, values: Values) -> Values:
    """The same rate with both protocols at each load."""
    return {"requests_per_s": 0.9 * point["load"]}


def _flat(point: Point, values: Values) -> Values:
    """The same rate at each load."""
    return {"requests_per_s": 500.0}


def _rate_of_both(point: Point, values: Values) -> Values:
    """A rate at the bounds of what is claimed of the highest load."""
    return {"requests_per_s": CAPACITY / 0.95 if is_at(point, protocol="tcp") else 0.95 * point["load"] * 100 / 101}


def _difference(percent: float, load: float, opposite: float) -> Case:
    """A difference at the bound of what is little, and one that is not little."""
    point = {"protocol": "tcp", "load": load}
    bound = where(
        {"load": load},
        lambda p, values: {"requests_per_s": 45.0 * (1 if is_at(p, protocol="tcp") else 1 + percent / 100)},
    )
    return case(point, times("requests_per_s", opposite), tie=bound, on_tie=UNDECIDED)


def _late(seconds: float) -> Change:
    return lambda point, values: {"run_time": values["schedule"] + seconds}


def _long(point: Point, values: Values) -> Values:
    """The same run time at each load."""
    return {"run_time": 200.0}


def _falling(point: Point, values: Values) -> Values:
    """Runs that end the later the lower the load, and errors that become fewer."""
    return {"run_time": values["schedule"] + 20_000 / point["load"], "error_rate": 2000 / point["load"]}


TCP = {"protocol": "tcp"}

WORLDS = {
    "mptcp_load study": World(
        [{"protocol": "mptcp", "load": HIGHEST, "receive_buffer": size} for size in ("auto", "64k", "4M")],
        lambda point: {"requests_per_s": 600.0 if is_at(point, receive_buffer="4M") else 500.0},
        {
            "adjusting parameters increases MPTCP's throughput": case(
                {"receive_buffer": "4M"},
                times("requests_per_s", 0.5),
                {"receive_buffer": ("64k", "4M")},
                tie=lambda point, values: {"requests_per_s": 500.0},
            )
        },
    ),
    "mptcp_load": World(
        [{"protocol": protocol, "load": load} for protocol in ("tcp", "mptcp") for load in LOADS],
        _as_the_paper,
        {
            "MPTCP's throughput grows from the lowest to the highest load": case(
                {"protocol": "mptcp", "load": HIGHEST}, times("requests_per_s", 0.5), tie=_flat
            ),
            "TCP's throughput grows from the lowest to the highest load": case(
                {**TCP, "load": HIGHEST}, times("requests_per_s", 0.5), {**TCP, "load": LOWEST}, tie=_flat
            ),
            "with MPTCP no request fails at any load": case(
                {"protocol": "mptcp", "load": 667.0},
                lambda point, values: {"errors": 1.0},
                tie=lambda point, values: {"errors": 0.0, "error_rate": 0.0},
                on_tie=YES,  # in a full run
                on_noise=YES,  # it is a count, which is exact
            ),
            "with TCP requests fail, and the more the higher the load": case(
                TCP, _falling, {**TCP, "load": HIGHEST}, tie=where(TCP, lambda point, values: {"error_rate": 2.5})
            ),
            "with MPTCP a run ends almost immediately after the ramp": case(
                {"protocol": "mptcp", "load": 667.0}, times("run_time", 1.2), tie=_late(1.0), on_tie=YES
            ),
            "with TCP a run takes longer than the ramp": case(
                {**TCP, "load": 571.0}, lambda point, values: {"run_time": values["schedule"]}, tie=_late(1.0)
            ),
            "with TCP the total run time grows with the load": case(TCP, _falling, tie=_long),
            "with MPTCP the total run time falls as the load grows": case(
                {"protocol": "mptcp"}, lambda point, values: {"run_time": point["load"]}, tie=_long
            ),
            "MPTCP carries more between hosts than TCP at the highest load (ours)": case(
                {"protocol": "mptcp", "load": HIGHEST},
                times("throughput_h1_h2_mean", 0.1),
                tie=lambda point, values: {"throughput_h1_h2_mean": 4e7},
            ),
            "with TCP a run ends the later after its schedule the higher the load (ours)": case(
                TCP, _falling, {**TCP, "load": LOWEST}, tie=where(TCP, _late(20.0))
            ),
            "at the highest load MPTCP's throughput is above TCP's": _rate(0.5, "mptcp", HIGHEST),
            "MPTCP's throughput is higher than TCP's at each load": _rate(0.5, "mptcp", 571.0),
            "at low load MPTCP and TCP differ little": _difference(15, LOW, 0.5),
            "below the capacity of one path MPTCP and TCP differ little (ours)": _difference(15, LOWEST, 0.5),
            "above it TCP is held to one path, and MPTCP answers what is offered, up to both (ours)": case(
                {"protocol": "mptcp", "load": HIGHEST},
                times("requests_per_s", 0.5),
                {"protocol": "mptcp"},
                tie=_rate_of_both,
                on_tie=UNDECIDED,
            ),
        },
        exact=("schedule", "ramp", "path_capacity", "request_size"),
    ),
}
