"""The parts of the record: runs, each with its form and its clock. To add one, add it to `_ALL`."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flightpath.clock import Clock
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from scenarios.multipath.model_claims import SERVICE_TIME_US
from scenarios.reproduction.part import Part


def _only(name: str, *values: object) -> str:
    return " ".join(shlex.join(["--only", f"{name}={value}"]) for value in values)


_ADJUSTED = "--receive-buffer auto,64KiB,4MB"
_SEVEN = "cubic,reno,illinois,scalable,veno,highspeed,vegas"
_SIX = _SEVEN.replace("scalable,", "")
_MPTCPS, _TUNNELS = "mptcp4,mptcp6", "tun4_path4,tun4_path6,tun6_path4,tun6_path6"
_QUADPATH = "congestion-control-quadpath", "congestion_quadpath"
_MODEL = f"--service-time {SERVICE_TIME_US:g}"
_TEN_TIMES_SLOWER = f"--link 1Gbit,0ms,1000p --service-time {10 * SERVICE_TIME_US:g}"
_STREAMS = f"--full {_only('traffic', 'cross')}"
_MODELLED_10GBE = "--configurations baseline4,tun4_path6_plain,tun6_path6_plain,mptcp4"


def _quadpath(
    suffix: str, configurations: str, algorithms: str, options: str, *, full: str = "", others: str = "", **more: Any
) -> Part:
    """Returns a part of the experiment on four paths; the full size has the experiment's own times and sizes.

    A part that adds to another one has none: the other one's has all cells, with `others`, the configurations added.
    """
    paper, scenario = _QUADPATH
    of_algorithms = f"--algorithms {algorithms}"
    in_full = f"--full --configurations {configurations}{others} {of_algorithms} {full}".strip()
    return Part(
        f"{scenario}{suffix}",
        paper,
        f"--configurations {configurations} {of_algorithms} {options}",
        full="" if "adds_to" in more else in_full,
        scenario_name=scenario,
        **more,
    )


_ALL = (
    # The paper's size: with fewer students no request waits for its timeout (1500: none fails at 800 requests/s).
    Part(
        "mptcp_load",
        "mptcp-load-sdn",
        f"--full --loads 500,800 {_only('protocol', 'tcp')} --repeat 3",
        cell_s=150,
        full="--full --repeat 10",
        full_cell_s=150,
    ),
    # Repetitions with MPTCP are alike; how much TCP grows takes three to decide.
    Part(
        "mptcp_load_mptcp",
        "mptcp-load-sdn",
        f"--full --loads 500,800 {_only('protocol', 'mptcp')} --repeat 2",
        cell_s=150,
        adds_to="mptcp_load",
    ),
    Part(
        "mptcp_load_parameters",
        "mptcp-load-sdn",
        f"--full --loads 800 --threads 1000 --only protocol=mptcp {_ADJUSTED} --repeat 2",
        cell_s=45,
        full=f"--full --loads 800 --only protocol=mptcp {_ADJUSTED} --buffering off,on --repeat 10",
        full_cell_s=150,
        scenario_name="mptcp_load",
    ),
    # Paths and processors of a tenth: the same experiment with all times ten times as long, and a tenth of the packets.
    # It comes first: what a second path brings MPTCP is no question of processors, of which 20 Gbit/s take two whole.
    Part(
        "multipath_10gbe_model",
        "mptgre-vs-mptcp-10gbe",
        f"{_TEN_TIMES_SLOWER} {_MODELLED_10GBE} --seconds 1 --size 10 --repeat 3",
        cell_s=7,
        full=f"--full {_MODEL} {_MODELLED_10GBE} --size 1000 --repeat 10",
        full_cell_s=1000,
        scenario_name="multipath_10gbe",
    ),
    Part("multipath_10gbe", "mptgre-vs-mptcp-10gbe", "--repeat 6", clock=Clock.REAL, full="--full"),
    _quadpath(
        "",
        f"baseline4,{_TUNNELS}",
        _SEVEN,
        "--seconds 2 --udp 0 --repeat 2",
        cell_s=13,
        full="--udp 0 --repeat 10",
        others=f",{_MPTCPS}",
        full_cell_s=115,
    ),
    _quadpath(
        "_mptcp",
        _MPTCPS,
        _SIX,
        "--seconds 2 --mptcp-size 1000 --udp 0 --repeat 3",
        cell_s=17,
        adds_to="congestion_quadpath",
    ),
    # Downloads that differ where slow start loses thousands of packets at once: as many as in the paper.
    _quadpath(
        "_tunnels",
        "tun4_path4,tun4_path6",
        "reno,veno,highspeed",
        "--seconds 2 --udp 0 --repeat 10",
        cell_s=14,
        adds_to="congestion_quadpath",
    ),
    # Its downloads over MPTCP differ most from each other: as many as in the paper.
    _quadpath(
        "_scalable",
        _MPTCPS,
        "scalable",
        "--seconds 2 --mptcp-size 1000 --udp 0 --repeat 10",
        cell_s=18,
        adds_to="congestion_quadpath",
    ),
    _quadpath(
        "_udp",
        _TUNNELS,
        "cubic",
        "--seconds 1 --size 0 --repeat 2",
        cell_s=14,
        full="--seconds 1 --size 0 --repeat 10",
        full_cell_s=60,
    ),
    # What Vegas meets in the tunnel is the delay of processors, which the virtual clock has not.
    _quadpath(
        "_vegas",
        "baseline4,tun4_path4,tun6_path6,mptcp6",
        "vegas",
        "--seconds 8 --udp 0 --repeat 3",
        clock=Clock.REAL,
        full="--udp 0",
    ),
    # A system call for each packet takes two cores whole: by itself, no other claim rests on its degraded cells.
    _quadpath(
        "_vegas_plain",
        "tun4_path4_plain",
        "vegas",
        "--seconds 8 --udp 0 --repeat 3",
        clock=Clock.REAL,
        full="--udp 0",
    ),
    _quadpath(
        "_processors",
        f"mptcp6,{_TUNNELS}",
        _SEVEN,
        "--seconds 2 --size 20 --udp 0 --repeat 3",
        clock=Clock.REAL,
        full="--udp 0",
    ),
    _quadpath(
        "_paths",
        "mptcp6,tun6_path6",
        "cubic",
        "--paths 1,2,3,4 --size 0 --udp 0 --repeat 3",
        clock=Clock.REAL,
        full="--paths 1,2,3,4 --size 0 --udp 0",
    ),
    _quadpath(
        "_model",
        "baseline4,tun4_path4_plain",
        "cubic,vegas",
        f"{_MODEL} --seconds 3 --udp 0 --repeat 2",
        cell_s=18,
        full=f"{_MODEL} --udp 0 --repeat 10",
        full_cell_s=115,
    ),
    Part(
        "vegas_thresholds",
        "congestion-control-quadpath",
        "--only paths=4x100Mbit --only paths=1x400Mbit --repeat 3",
        clock=Clock.REAL,
        full="--full",
        is_ours=True,
    ),
    Part(
        "vegas_thresholds_slow",
        "congestion-control-quadpath",
        "--only paths=4x10Mbit --only congestion_control=vegas --repeat 3",
        clock=Clock.REAL,
        scenario_name="vegas_thresholds",
        is_ours=True,
    ),
    Part(
        "dtn_buffers",
        "netpreflight",
        f"--full {_only('size_mb', 5, 20, 60, 100)} --repeat 2",
        cell_s=3,
        full="--full --repeat 10",
        full_cell_s=6,
    ),
    Part(
        "dtn_congestion",
        "netpreflight",
        f"--full {_only('size_mb', 20, 100)} --repeat 2",
        cell_s=3.5,
        full="--full --repeat 10",
        full_cell_s=6,
    ),
    Part(
        "dtn_congestion_loss",
        "netpreflight",
        full="--full --link 10Gbit,15ms,1bdp,0.01% --repeat 10",
        full_cell_s=6,
        scenario_name="dtn_congestion",
    ),
    Part(
        "dtn_congestion_shallow",
        "netpreflight",
        full="--full --link 10Gbit,15ms,100p --repeat 10",
        full_cell_s=6,
        scenario_name="dtn_congestion",
    ),
    Part(
        "dtn_bottleneck",
        "netpreflight",
        f"--full {_only('size_mb', 50, 500)} --repeat 2",
        cell_s=5.5,
        full="--full --repeat 10",
        full_cell_s=12,
    ),
    Part("dtn_tools", "netpreflight", "--repeat 3", cell_s=2.5, full="--full --repeat 10", full_cell_s=9),
    # Beside traffic a window costs minutes: those of which the paper says something.
    Part(
        "dtn_window",
        "netpreflight",
        f"--full {_only('traffic', 'cross')} {_only('window_kib', 8, 128, 512, 1024, 2048)} --repeat 3",
        cell_s=26,
        full="--full --link 10Gbit,15ms,1bdp --repeat 10",
        full_cell_s=60,
    ),
    Part(
        "dtn_window_isolated",
        "netpreflight",
        f"--full {_only('traffic', 'isolated')} --repeat 2",
        cell_s=5,
        adds_to="dtn_window",
    ),
    Part(
        "dtn_streams",
        "netpreflight",
        f"{_STREAMS} {_only('size_mb', 100)} {_only('buffer_kib', 2048)} {_only('streams', 1, 2)} --repeat 10",
        cell_s=29,
        full="--full --repeat 30",
        full_cell_s=250,
    ),
    Part(
        "dtn_streams_larger",
        "netpreflight",
        f"{_STREAMS} {_only('size_mb', 1000)} {_only('buffer_kib', 2048)} {_only('streams', 4, 8)} --repeat 6",
        cell_s=86,
        adds_to="dtn_streams",
    ),
    # The smaller file with as many streams: what a larger one brings.
    Part(
        "dtn_streams_smaller",
        "netpreflight",
        f"{_STREAMS} {_only('size_mb', 100)} {_only('buffer_kib', 2048)} {_only('streams', 4, 8)} --repeat 4",
        cell_s=29,
        adds_to="dtn_streams",
    ),
    # With the larger buffer most connections are as fast to the last bit, repetition by repetition.
    Part(
        "dtn_streams_buffer",
        "netpreflight",
        f"{_STREAMS} {_only('size_mb', 100)} {_only('buffer_kib', 4096)} {_only('streams', 1)} --repeat 10",
        cell_s=28,
        adds_to="dtn_streams",
    ),
    Part(
        "dtn_multihomed",
        "netpreflight",
        f"--full {_only('size_mb', 100)} --repeat 3",
        cell_s=9,
        full="--full --repeat 10",
        full_cell_s=30,
        is_ours=True,
    ),
    # A hash places the streams by chance, in one of ten repetitions even one on each path. Subflows take longer than
    # streams that are placed, by hardly more than what counts as alike.
    Part(
        "dtn_multihomed_four",
        "netpreflight",
        f"--full {_only('size_mb', 100)} {_only('paths', 'four')} "
        f"{_only('transport', 'TCP streams', 'hashed TCP streams', 'MPTCP subflows')} --repeat 10",
        cell_s=9,
        is_ours=True,
        adds_to="dtn_multihomed",
    ),
    # How long streams take depends on how many packets are lost, and when: 1.5 to 5 s, so that three decide nothing.
    Part(
        "dtn_multihomed_lossy",
        "netpreflight",
        f"--full {_only('size_mb', 100)} {_only('paths', 'lossy')} "
        f"{_only('transport', 'TCP streams', 'MPTCP subflows')} --repeat 6",
        cell_s=9,
        is_ours=True,
        adds_to="dtn_multihomed",
    ),
    Part(
        "dtn_mss",
        "netpreflight",
        f"--seconds 4 {_only('loss', 0)} --repeat 3",
        cell_s=6,
        full=f"--full --seconds 20 {_only('loss', 0)} --repeat 10",
        full_cell_s=110,
    ),
    # Each loss is a matter of chance, so that a few seconds differ by a third.
    Part(
        "dtn_mss_loss",
        "netpreflight",
        f"--seconds 4 {_only('loss', '0.01%')} --repeat 16",
        cell_s=6,
        full=f"--full --seconds 20 {_only('loss', '0.01%')} --repeat 10",
        full_cell_s=80,
        scenario_name="dtn_mss",
    ),
)

FULL_SIZE = tuple(replace(part, options=part.full, cell_s=part.full_cell_s) for part in _ALL if part.full)
"""The parts in the papers' own sizes, which take days on two cores."""
PARTS = tuple(part for part in _ALL if part.options)
"""The parts that together take about two hours."""

_OURS = {part.name for part in (*PARTS, *FULL_SIZE) if part.is_ours}


def is_ours(name: str) -> bool:
    """Returns whether the part with a name is an experiment of our own."""
    return name in _OURS


def chosen(names: Sequence[str], parts: Sequence[Part] = PARTS) -> list[Part]:
    """Returns the parts with these names, in the order of the record; all parts if no name is given.

    A part comes with those that are judged together with it.
    """
    judged_with = {part.name: part.adds_to or part.name for part in parts}
    for name in names:
        if name not in judged_with:
            raise UsageError(f"there is no part {name!r}", did_you_mean(name, judged_with))
    wanted = {judged_with[name] for name in names}
    return [part for part in parts if not names or judged_with[part.name] in wanted]
