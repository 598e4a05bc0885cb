"""The same transfer by iperf3, for comparison: without encryption or disk, but with a server at the far end."""

import json
import subprocess

from flightpath.commands import over_mptcp, require
from flightpath.errors import MissingCapability
from probes.preflight.records import Iperf3Result
from probes.preflight.sockets import Address
from probes.preflight.spec import DEFAULT_TIME_LIMIT_S, Direction, TransferSpec

_SETUP_S = 30


def command(address: Address, spec: TransferSpec, seconds: float) -> list[str]:
    """Returns the command that transfers in the same direction, with the same streams, time and socket options."""
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
    """Runs iperf3, for as long as the specification says or the probe took; never raises, but notes what went wrong."""
    duration = spec.duration_limit_s or seconds or DEFAULT_TIME_LIMIT_S
    limit = duration + _SETUP_S
    try:
        argv = command(address, spec, duration)
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=limit)
        return parse(done.stdout, duration)
    except MissingCapability as error:
        return _not_measured(duration, error.args[0])
    except subprocess.TimeoutExpired:
        return _not_measured(duration, f"iperf3 did not end within {limit:g} s")


def parse(report: str, seconds: float) -> Iperf3Result:
    try:
        fields = json.loads(report)
        if "error" in fields:
            return _not_measured(seconds, str(fields["error"]))
        end = fields["end"]
        return Iperf3Result(
            goodput_bps=float(end["sum_received"]["bits_per_second"]),
            retransmitted_packets=end["sum_sent"].get("retransmits"),
            seconds=float(end["sum_received"]["seconds"]),
            version=str(fields["start"]["version"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        return _not_measured(seconds, f"iperf3's report cannot be read: {error!r}")


def _not_measured(seconds: float, note: str) -> Iperf3Result:
    return Iperf3Result(None, None, seconds, "", note)
