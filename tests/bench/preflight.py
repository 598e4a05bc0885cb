"""The preflight probe beside OpenSSH's own sftp and beside iperf3, over the same links."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flightpath.commands import require
from flightpath.processes import family
from probes.preflight.measure.run_in_host import run_in
from probes.preflight.records import PreflightResult
from probes.preflight.spec import DEFAULT_CIPHER, Direction, TransferSpec
from services.sshd import Sshd
from tests.bench.figures import Figure
from tests.bench.hosts import Pair, iperf_server, pair
from topologies.hosts import congestion_control
from topologies.links.spec import LinkSpec

SECTION = "preflight"
GIGABIT = LinkSpec(bandwidth_bps=1_000_000_000, delay_s=0.015, queue="1bdp")
TO_IPERF3 = {
    "1 Gb/s, 30 ms RTT, eight streams": (GIGABIT, 8, 0.95),
    "100 Mb/s, 10 ms RTT": (LinkSpec(bandwidth_bps=100_000_000, delay_s=0.005, queue="1bdp"), 1, 0.97, 1.03),
    "500 Mb/s, 10 ms RTT": (LinkSpec(bandwidth_bps=500_000_000, delay_s=0.005, queue="1bdp"), 1, 0.97, 1.03),
}
SECONDS = 8.0
NEAR, NEAR_BYTES = LinkSpec(bandwidth_bps=1_000_000_000, delay_s=0.005, queue="1bdp"), 1_000_000_000
TO_SFTP = {"bare veth pair": (None, 2_500_000_000), "1 Gb/s, 30 ms RTT": (GIGABIT, 400_000_000)}


def measure(number: int) -> Iterator[str | Figure]:
    for name, (link, size) in TO_SFTP.items():
        with _far_end(link) as (network, sshd):
            for direction in Direction:
                yield f"{name}, one {direction}, beside sftp"
                bps, ratio = _beside_sftp(network, sshd, size, direction)
                yield Figure(SECTION, f"{name}, one {direction}", [bps / 1e9], "Gb/s")
                yield Figure(SECTION, f"{name}, one {direction}, to sftp", [ratio], "ratio", at_least=0.9)
    far_end = "1 Gb/s, 10 ms RTT, far end's processor time, to sftp"
    yield far_end
    with _far_end(NEAR) as (network, sshd):
        yield Figure(SECTION, far_end, [_far_end_to_sftp(network, sshd)], "ratio", at_most=1.25)
    for name, (link, streams, *bounds) in TO_IPERF3.items():
        yield f"{name}, beside iperf3"
        with _far_end(link) as (network, sshd), iperf_server(network.target) as server:
            ratio = _beside_iperf3(network, sshd, streams, server.port)
            yield Figure(SECTION, f"{name}, to iperf3", [ratio], "ratio", *bounds)


@contextmanager
def _far_end(link: LinkSpec | None) -> Iterator[tuple[Pair, Sshd]]:
    with pair(link) as network, Sshd(network.target, network.target.address(), Path("/run/bench-ssh")) as sshd:
        congestion_control.set_on_listeners(network.target)
        yield network, sshd


def _beside_sftp(network: Pair, sshd: Sshd, size: int, direction: Direction) -> tuple[float, float]:
    """The probe's throughput in bit/s, and that to sftp's with the same cipher.

    What sftp needs to connect is measured with one byte, and taken off its time.
    """
    theirs = size * 8 / (_sftp_s(network, sshd, size, direction) - _sftp_s(network, sshd, 1, direction))
    result = _probe(network, sshd, TransferSpec(direction=direction, size_bytes=size, route=False))
    ours = result.goodput_bps or 0.0
    return ours, ours / theirs


def _far_end_to_sftp(network: Pair, sshd: Sshd) -> float:
    """The processor time of sshd for a download by the probe, to that for one by sftp."""
    theirs = _far_end_s(sshd, lambda: _sftp_s(network, sshd, NEAR_BYTES, Direction.DOWNLOAD))
    spec = TransferSpec(size_bytes=NEAR_BYTES, route=False)
    return _far_end_s(sshd, lambda: _probe(network, sshd, spec)) / theirs


def _far_end_s(sshd: Sshd, download: Callable[[], object]) -> float:
    """The processor time of sshd's sessions, whose processes end without one that waits for them and would know it."""
    used, over = dict[int, float](), threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            used.update((each.pid, each.own_cpu_seconds) for each in family(sshd.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        download()
    finally:
        over.set()
        watcher.join()
    return sum(used.values())


def _sftp_s(network: Pair, sshd: Sshd, size: int, direction: Direction) -> float:
    local, remote = sshd.folder / "local", sshd.files / "remote"
    is_upload = direction is Direction.UPLOAD
    file, command = (local, f"put {local} remote") if is_upload else (remote, "get remote /dev/null")
    file.touch()
    os.truncate(file, size)
    if not is_upload:
        sshd.give(file)
    options = ["-q", "-b", "-", "-F", str(sshd.client_configuration), "-c", DEFAULT_CIPHER]
    begun = time.monotonic()
    network.source.run([require("sftp"), *options, sshd.name], stdin=command, timeout_s=120)
    took = time.monotonic() - begun
    for path in (local, remote):
        path.unlink(missing_ok=True)
    return took


def _beside_iperf3(network: Pair, sshd: Sshd, streams: int, port: int) -> float:
    spec = TransferSpec(time_limit_s=SECONDS, streams=streams, iperf3_port=port, route=False)
    result = _probe(network, sshd, spec)
    if result.iperf3 is None or result.iperf3.goodput_bps is None:
        raise RuntimeError(f"iperf3 was not measured: {result.iperf3}")
    return (result.goodput_bps or 0.0) / result.iperf3.goodput_bps


def _probe(network: Pair, sshd: Sshd, spec: TransferSpec) -> PreflightResult:
    return run_in(network.source, sshd.name, spec, ssh_config=sshd.client_configuration)
