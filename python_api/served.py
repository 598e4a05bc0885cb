"""The far side of a network's calls, in its own process."""

import contextlib
import itertools
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from experiments import fidelity
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.units import parse_bytes
from flightpath.waiting import wait_until
from probes.preflight import TransferSpec
from probes.sftp import SftpTransfer
from probes.transfers.iperf3 import Iperf3
from probes.transfers.ping import Ping
from results.records import Certificate, Measurement
from services.iperf3 import Iperf3Server
from services.sshd import Sshd
from topologies.hosts import congestion_control
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.changes import DIRECTIONS
from topologies.links.conditions import Stepper
from topologies.links.emulated_link import EmulatedLink
from topologies.testbed.testbed import Testbed

_KILLED_S = 10.0
"""Longest wait for the end of processes that were killed."""

Ended = tuple[int, str, str]
"""A program's exit code, as `subprocess` has it, stdout and stderr."""


@dataclass
class _Program:
    """A program that runs in a host; its output goes to files."""

    name: str
    process: subprocess.Popen[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def wait(self, timeout: float | None) -> Ended:
        """Waits for its end.

        Raises:
            MeasurementFailed: it has not ended in time, and goes on.
        """
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise MeasurementFailed(f"{self.name}: no end after {timeout:g} s") from error
        return code, _text(self.stdout), _text(self.stderr)

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Sends a signal to it and to what it has started in its session; waits until SIGKILL has ended all of it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
        if number is signal.SIGKILL:
            wait_until(self._is_gone, f"the end of {self.name}", _KILLED_S)

    def _is_gone(self) -> bool:
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True
        return False


class ServedNetwork:
    """The calls of a Network; their arguments and results can be pickled.

    The links are calibrated before the first call that sends something, and watched from then on until `certificate`.
    """

    def __init__(self, testbed: Testbed, folder: Path) -> None:
        self._testbed, self._folder = testbed, folder
        self._clock: Stepper | None = None
        self._watch: fidelity.Watch | None = None
        self._programs: dict[int, _Program] = {}
        self._numbers = itertools.count(1)

    def addresses(self) -> Mapping[str, Sequence[str]]:
        """Returns each host's addresses, without their prefix lengths, in the order of its interfaces."""
        return {
            host.name: [str(it.ip) for _, interfaces in sorted(host.addresses.items()) for it in interfaces]
            for host in self._testbed.net.hosts
        }

    def links(self) -> list[dict[str, Any]]:
        """Returns each direction of each link: its ends, specification and counters."""
        return [_direction(link, way) for link in self._testbed.links for way in DIRECTIONS]

    def run(self, host: str, argv: Sequence[str], stdin: str | None, timeout: float) -> Ended:
        """Runs a program in a host to its end; kills it if that takes longer than `timeout` seconds.

        Raises:
            MeasurementFailed: it had to be killed.
        """
        self._watched()
        number = self.start(host, argv, stdin)
        try:
            return self.wait(number, timeout)
        except MeasurementFailed:
            self.end(number, signal.SIGKILL, None)
            raise

    def start(self, host: str, argv: Sequence[str], stdin: str | None = None) -> int:
        """Starts a program in a host, and returns a number for it."""
        node = self._testbed.host(host)
        self._watched()
        stdout, stderr = self._file(), self._file()
        with self._file((stdin or "").encode()) as given:
            process = node.popen(list(argv), stdin=given, stdout=stdout, stderr=stderr)
        number = next(self._numbers)
        self._programs[number] = _Program(f"{host}: {' '.join(argv)}", process, stdout, stderr)
        return number

    def wait(self, number: int, timeout: float | None) -> Ended:
        """Waits for the end of a program that was started; see `_Program.wait`."""
        program = self._programs[number]
        ended = program.wait(timeout)
        del self._programs[number]
        return ended

    def end(self, number: int, sent: int, timeout: float | None) -> Ended:
        """Ends a program that was started: by a signal, and after `timeout` seconds by SIGKILL."""
        program = self._programs[number]
        program.end(signal.Signals(sent))
        try:
            return self.wait(number, timeout)
        except MeasurementFailed:
            program.end()
            return self.wait(number, None)

    def step(self, time: str) -> None:
        """Lets the programs go on for a time."""
        self._stepper().step(time)

    def stop_at(self, when: str, limit: float) -> float:
        """Lets the programs go on to a moment or an event; returns when that was, in seconds since the calibration."""
        clock = self._stepper()
        clock.until(when, limit)
        return clock.now_s

    def ping(self, source: str, target: str, count: int, interval: float, port: int) -> Measurement:
        """Pings from one host to another."""
        probe = Ping(count=count, interval_s=interval)
        with self._between(source, target, port) as (here, there, address):
            probe = replace(probe, round_trip_s=self._testbed.round_trip_s(here, there, port))
            return probe.run(here, address, watch=self._check)

    def iperf(self, source: str, target: str, port: int, options: Mapping[str, Any]) -> Measurement:
        """Transfers by iperf3."""
        probe = Iperf3(**options)
        with (
            self._between(source, target, port) as (here, there, address),
            self._space() as folder,
            Iperf3Server(
                there,
                folder,
                interval_s=probe.interval_s,
                mptcp=probe.mptcp,
                on_listening=congestion_control.set_on_listeners,
            ),
            self._watched().recording_congestion_control(source),
        ):
            probe = replace(probe, round_trip_s=self._testbed.round_trip_s(here, there, port))
            return probe.run(here, address, watch=self._check)

    def transfer(self, source: str, target: str, size: str, port: int, options: Mapping[str, Any]) -> Measurement:
        """Transfers a file by SFTP."""
        spec = TransferSpec(size_bytes=parse_bytes(size, "size"), route=False, **options)
        with self._between(target, source, port) as (there, here, reach), self._space() as folder:
            address = "0.0.0.0" if spec.mptcp else reach  # further subflows come to the other addresses
            with Sshd(here, address, folder / "sshd", reach=reach, mptcp=spec.mptcp) as server:
                congestion_control.set_on_listeners(here)
                probe = SftpTransfer(spec, server.client_configuration)
                with self._watched().recording_congestion_control(source):
                    return probe.run(there, server.name, watch=self._check)

    def certificate(self) -> Certificate:
        """Certifies links and machine since the last certificate, or since the links were first calibrated."""
        watch = self._watched()
        self._watch = None
        watch.__exit__(None, None, None)
        return watch.certificate()

    def close(self) -> None:
        """Ends all programs, and the watching."""
        for program in self._programs.values():
            program.end()
        if self._watch is not None:
            self._watch.__exit__(None, KeyboardInterrupt(), None)

    def _watched(self) -> fidelity.Watch:
        if self._watch is None:
            self._watch = fidelity.Watch(self._testbed).__enter__()
            self._clock = self._clock or Stepper(self._testbed.net)
        return self._watch

    def _stepper(self) -> Stepper:
        self._watched()
        assert self._clock is not None, "it is made with the first watch"
        return self._clock

    def _check(self) -> None:
        self._watched().check()

    @contextlib.contextmanager
    def _between(self, source: str, target: str, port: int) -> Iterator[tuple[MultihomedHost, MultihomedHost, str]]:
        """Yields two hosts, and the second one's address; the network is watched meanwhile."""
        here, there = self._testbed.host(source), self._testbed.host(target)
        if port not in there.addresses:
            raise UsageError(f"{target} has no address on interface {port}", f"interfaces: {sorted(there.addresses)}")
        self._watched()
        with self._testbed.reporting_component_failure():
            yield here, there, there.address(port)

    def _file(self, content: bytes = b"") -> IO[bytes]:
        file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed with what has it
        file.write(content)
        file.seek(0)
        return file

    @contextlib.contextmanager
    def _space(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            Path(folder).chmod(0o711)  # services may have a user of their own
            yield Path(folder)


def _direction(link: EmulatedLink, way: str) -> dict[str, Any]:
    ends = (link.intf1, link.intf2) if way == "a_to_b" else (link.intf2, link.intf1)
    spec, counters = getattr(link, way), link.stats()["directions"][way]
    return {
        "link": link.name,
        "source": ends[0].node.name,
        "target": ends[1].node.name,
        "emulator": link.emulator,
        "bandwidth_bps": spec.mean_bandwidth_bps,
        "delay_ms": spec.delay_s * 1e3,
        "jitter_ms": spec.jitter_s * 1e3,
        "loss_percent": spec.loss * 100,
        "queue": spec.queue,
        "carried_packets": counters["out_packets"],
        "carried_bytes": counters["out_bytes"],
        "dropped_packets": sum(count for count in counters["drops"].values() if count),
        "specification": str(spec),
    }


def _text(output: IO[bytes]) -> str:
    with output:
        output.seek(0)
        return output.read().decode(errors="replace")
