"""The same measurement with iperf3, where a server is there: without it nobody could tell the probe from the path."""

import json
import subprocess

from flightpath.commands import over_mptcp, require
from flightpath.errors import MissingCapability
from probes.preflight.records import Iperf3Result
from probes.preflight.spec import DEFAULT_TIME_LIMIT_S, Direction, TransferSpec
from probes.preflight.ssh.sockets import Address

_SETUP_S = 30


def command(address: Address, spec: TransferSpec, seconds: float) -> list[str]:
    """iperf3 with the direction, streams, time and socket options of a specification (iperf3(1))."""
    options = ["--client", address.host, "--port", str(spec.iperf3_port), "--json", f"-{address.version}"]
    options += ["--time", str(max(1, round(seconds))), "--parallel", str(spec.streams)]
    options += ["--reverse"] if spec.direction is Direction.DOWNLOAD else []
    options += ["--set-mss", str(spec.mss_bytes)] if spec.mss_bytes else []
    options += ["--congestion", spec.congestion_control] if spec.congestion_control else []
    buffer = spec.receive_buffer_bytes if spec.direction is Direction.DOWNLOAD else spec.send_buffer_bytes
    options += ["--window", str(buffer)] if buffer else []
    options += ["--bitrate", str(spec.rate_limit_bps // spec.streams)] if spec.rate_limit_bps else []
    return [*over_mptcp(spec.mptcp), require("iperf3"), *options]


def measure(address: Address, spec: TransferSpec, seconds: float | None) -> Iperf3Result:
    """Runs it; never raises: what went wrong is in the result's note.

    Args:
        address: of the far end.
        spec: what was measured before.
        seconds: how long that took; a specification's own time limit wins.
    """
    lasts = spec.duration_limit_s or seconds or DEFAULT_TIME_LIMIT_S
    try:
        argv = command(address, spec, lasts)
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=lasts + _SETUP_S)
        return parse(done.stdout, lasts)
    except MissingCapability as error:
        return _nothing(lasts, error.args[0])
    except subprocess.TimeoutExpired:
        return _nothing(lasts, f"iperf3 did not end within {lasts + _SETUP_S:g} s")


def parse(printed: str, seconds: float) -> Iperf3Result:
    """What iperf3 printed with `--json`."""
    try:
        told = json.loads(printed)
        if "error" in told:
            return _nothing(seconds, told["error"])
        end = told["end"]
        return Iperf3Result(
            goodput_bps=float(end["sum_received"]["bits_per_second"]),
            retransmitted_packets=end["sum_sent"].get("retransmits"),
            seconds=float(end["sum_received"]["seconds"]),
            version=str(told["start"]["version"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        return _nothing(seconds, f"iperf3 printed something else than its report: {error!r}")


def _nothing(seconds: float, note: str) -> Iperf3Result:
    return Iperf3Result(None, None, seconds, "", note)
