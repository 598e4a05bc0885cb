"""Virtual time: speed and exactness of experiments."""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from execution.uml import kernel
from flightpath.commands import run
from flightpath.project import PROJECT
from python_api.network import Network
from tests.bench.figures import Figure
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import CLIENT, SERVER
from topologies.sandbox.sandbox import TEMPORARY

SECTION = "virtual time"
_IN_UML = (sys.executable, "-m", "execution.virtual", "--seed", "1", "--")
_LONG = LinkSpec(bandwidth_bps=10_000_000_000, delay_s=0.015, queue="1bdp")
_FLOWS = {
    "10 Gb/s x 30 ms": (1, _LONG, 4, 99.9),
    "100 Gb/s x 10 ms": (1, LinkSpec(bandwidth_bps=100_000_000_000, delay_s=0.005, queue="1bdp"), 1, 95.0),
    "4 x 10 Gb/s x 30 ms under MPTCP, 9000 bytes": (4, replace(_LONG, mtu_bytes=9000), 3, 98.5),
}
"""Number of paths, each of them, warm-up (s), and the share of the payload limit, in %, that a flow is to reach."""

_IP_TCP_TIMESTAMPS, _DSS = 52, 20
"""Bytes of headers; DSS is MPTCP's."""

_LIMIT_S = 3600
_AGAIN = "10 Gb/s x 30 ms"
_IDLE_NETWORK = "unshare -n sh -c 'ip link set lo up; ping -q -i 1 -c 600 127.0.0.1'"


def measure(number: int) -> Iterator[str | Figure]:
    kernel.find()
    yield "ten minutes of an idle network"
    idle_s = _took_s(*_IN_UML, "sh", "-c", _IDLE_NETWORK)
    yield Figure(SECTION, "ten minutes of an idle network, one ping a second", [idle_s], "s", at_most=10)
    for name, (paths, link, warm_up_s, share) in _FLOWS.items():
        yield name
        goodput_bps, limit_bps = _flow_bps(paths, link, warm_up_s)
        yield Figure(SECTION, name, [goodput_bps / 1e9], "Gb/s")
        yield Figure(SECTION, f"{name}: of the payload limit", [100 * goodput_bps / limit_bps], "%", at_least=share)
        if name == _AGAIN:
            difference = 100 * abs(_flow_bps(paths, link, warm_up_s)[0] / goodput_bps - 1)
            yield Figure(SECTION, "the same again: difference", [difference], "%", at_most=0.01)
    for scenario, limit_s in (("mptcp_load", 360), ("congestion_quadpath", 300)):
        yield f"{scenario}, the quick form"
        options = ("--clock", "virtual", "--repeat", "1", "--results", str(TEMPORARY / f"{scenario}{number}"))
        quick_s = _took_s(sys.executable, "-m", f"scenarios.{scenario}", *options)
        yield Figure(SECTION, f"{scenario}, the quick form", [quick_s], "s", at_most=limit_s)


def _flow_bps(paths: int, link: LinkSpec, warm_up_s: float) -> tuple[float, float]:
    """Goodput of a flow, and what the paths carry of a connection's payload."""
    mptcp = paths > 1
    with Network("multipath_pair", clock="virtual", paths=paths, links=link, mptcp=mptcp) as net:
        measured = net.iperf(CLIENT, SERVER, seconds=1, warm_up_s=warm_up_s, mptcp=mptcp)
    payload = link.mtu_bytes - _IP_TCP_TIMESTAMPS - (_DSS if mptcp else 0)
    return measured.metrics["goodput"].value, paths * link.bandwidth_bps * payload / link.frame_bytes


def _took_s(*command: str) -> float:
    """Duration of a command of the project; it must succeed."""
    began_s = time.monotonic()
    run(command, cwd=PROJECT, timeout_s=_LIMIT_S)
    return time.monotonic() - began_s
