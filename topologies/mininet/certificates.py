"""Certificates in one line for networks of Mininet's: whether this machine kept up while packets moved.

The processors are judged as those of a scenario's cell, in the seconds in which hosts send packets. A link's packets
are late if more than 1 % of them left it a millisecond after their time: that is `degraded`, and after 8 ms `unusable`.
"""

import contextlib
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from mininet.net import Mininet
from mininet.node import Node

from flightpath.clock import Clock, clock_here
from flightpath.errors import FlightpathError
from flightpath.tcp_info import counters
from flightpath.units import format_bandwidth
from topologies.calibration import processor
from topologies.calibration.records import DELAY_NOISE_MS, RATE_NOISE_SHARE, LinkCalibration
from topologies.links.emulated_link import EmulatedLink
from topologies.mininet import congestion_control

_PERIOD_S = 1.0
_SHARE_OF_TIME = 0.02
"""Largest share of the time that goes into reading counters; in large networks they are read less often."""

_LATE_SHARE = 0.01
# Bins of a lateness histogram are powers of two of nanoseconds.
_DEGRADED_BIN, _UNUSABLE_BIN = 20, 23
_VERDICTS = ("faithful", "degraded", "unusable")
_SENT = (("Ip", "OutRequests"), ("Tcp", "OutSegs"))
_SENT_BY_IPV6 = ("Icmp6OutEchos", "Udp6OutDatagrams")
"""With `_SENT`, counters of what users' programs send, without ARP, neighbour discovery and the controller's probes."""

_Lateness = Counter[tuple[str, int]]
"""Number of packets for each direction of a link, and each bin of its lateness histogram."""


class _Sample(NamedTuple):
    time_s: float
    processor: Mapping[str, float]
    sent_packets: int


class Certifier:
    """Watches the processors and the links of networks from their start to their end."""

    def __init__(self) -> None:
        self._networks: dict[Mininet, _Lateness] = {}
        self._samples: list[_Sample] = []
        self._ended: _Lateness = Counter()
        self._sent_before = 0
        self._algorithms: set[str] = set()
        self._lock = threading.Lock()

    def watch(self, network: Mininet) -> None:
        """Begins to watch a network that has started."""
        with self._lock:
            self._networks[network] = _lateness(network)
        if not self._samples and clock_here() is Clock.REAL:
            threading.Thread(target=self._run, daemon=True).start()
        self._sample()

    def leave(self, network: Mininet) -> None:
        """Ends watching a network; does nothing if it is not watched."""
        if network not in self._networks:
            return
        self._sample()
        self._algorithms |= _algorithms([network])
        with self._lock:
            self._sent_before += _sent(network)
            before = self._networks.pop(network)
        self._ended += _increase(before, _lateness(network))

    def mark(self) -> tuple[int, _Lateness]:
        """Marks the present time, for `certificate`."""
        self._sample()
        return len(self._samples) - 1, self._present()

    def certificate(self, mark: tuple[int, _Lateness] | None = None, *, always: bool = False) -> str | None:
        """Returns the certificate since a mark, or since the start; None if no host sent anything, unless `always`."""
        if not self._samples:
            return None
        if mark is None:
            for network in list(self._networks):
                self.leave(network)
            first, late, algorithms = 0, self._ended, self._algorithms
        else:
            self._sample()
            first, before = mark
            late, algorithms = _increase(before, self._present()), _algorithms(self._networks)
        samples = self._samples[first:]
        if not always and samples[-1].sent_packets <= samples[0].sent_packets:
            return None
        while first > 0 and samples[-1].time_s - samples[0].time_s < _PERIOD_S:
            first -= 1
            samples = self._samples[first:]
        seconds = [(a, b) for a, b in _seconds(samples) if always or b.sent_packets > a.sent_packets]
        return _line(seconds, late, " and ".join(sorted(algorithms)))

    def _run(self) -> None:
        pause_s = _PERIOD_S
        while True:
            time.sleep(pause_s)
            began_s = time.monotonic()
            self._sample()
            pause_s = max(_PERIOD_S, (time.monotonic() - began_s) / _SHARE_OF_TIME)

    def _sample(self) -> None:
        with self._lock:
            sent_packets = self._sent_before + sum(map(_sent, self._networks))
            self._samples.append(_Sample(time.monotonic(), processor.read_counters(), sent_packets))

    def _present(self) -> _Lateness:
        return sum(map(_lateness, self._networks), Counter())


def certified(measured: LinkCalibration) -> tuple[str, bool]:
    """Describes one direction of a link, and returns whether it matches its specification apart from noise."""
    ends = measured.link.split(":")
    source, target = ends if measured.direction == "a_to_b" else reversed(ends)
    parts, is_right = [], not measured.unchecked
    rate_bps, expected_bps = measured.rate_bps, measured.expected_rate_bps
    if rate_bps is not None and expected_bps:
        error = rate_bps / expected_bps - 1
        is_right = is_right and abs(error) <= RATE_NOISE_SHARE + measured.rate_uncertainty
        parts.append(f"{rate_bps / 1e6:.4g} of {format_bandwidth(expected_bps)}")
    if measured.delay_error_ms is not None:
        is_right = is_right and abs(measured.delay_error_ms) <= DELAY_NOISE_MS + measured.delay_uncertainty_ms
        parts.append(f"{measured.delay_ms:.2f} of {measured.expected_delay_ms:g} ms")
    notes = [*measured.unchecked, *measured.not_judged]
    line = f"{source}->{target}: {', '.join(parts) or 'no limits'}{'; ' if notes else ''}{'; '.join(notes)}"
    return f"{line}: {'as asked' if is_right else 'NOT as asked'}", is_right


def _line(seconds: Sequence[tuple[_Sample, _Sample]], lateness: _Lateness, algorithm: str) -> str:
    if clock_here() is Clock.VIRTUAL:
        return f"*** certificate: faithful, {algorithm}: in virtual time no packet is late\n"
    idle = [_percent(a, b, "cpu_idle") for a, b in seconds]
    steal = [_percent(a, b, "cpu_steal") for a, b in seconds]
    late_bin, link = max(_late_bins(lateness), default=(-1, ""))
    problems: list[tuple[str, str]] = list(processor.shortcomings(idle, steal) if seconds else ())
    if late_bin >= _DEGRADED_BIN:
        late = f"link {link}: more than 1 % of the packets were at least {2.0**late_bin / 1e6:.2g} ms late"
        problems.append(("unusable" if late_bin >= _UNUSABLE_BIN else "degraded", late))
    verdict = max((verdict for verdict, _ in problems), key=_VERDICTS.index, default=_VERDICTS[0])
    facts = [reason for _, reason in problems]
    if not problems:
        facts = [f"{sum(idle) / len(idle):.0f} % idle" if idle else "too short to judge the processors"]
        facts += [f"packets at most {2.0 ** (late_bin + 1) / 1e6:.2g} ms late"] if lateness else []
    return f"*** certificate: {verdict}, {algorithm}: {'; '.join(facts)}\n"


def _seconds(samples: Sequence[_Sample]) -> Iterator[tuple[_Sample, _Sample]]:
    """Yields first and last sample of each second, or a little more; from the end back."""
    last = samples[-1]
    for sample in reversed(samples):
        if last.time_s - sample.time_s >= _PERIOD_S:
            yield sample, last
            last = sample


def _percent(first: _Sample, last: _Sample, counter: str) -> float:
    part, whole = (last.processor[name] - first.processor[name] for name in (counter, "cpu_total"))
    return 100 * part / whole if whole else 0.0


def _late_bins(lateness: _Lateness) -> Iterator[tuple[int, str]]:
    """Yields the bin of the 99th percentile of each direction of a link, and the direction."""
    for name, group in groupby(sorted(lateness.items(), reverse=True), lambda item: item[0][0]):
        counts = [(late_bin, count) for (_, late_bin), count in group]
        later, allowed = 0, _LATE_SHARE * sum(count for _, count in counts)
        for late_bin, count in counts:
            later += count
            if later > allowed:
                yield late_bin, name
                break


def _lateness(network: Mininet) -> _Lateness:
    counted: _Lateness = Counter()
    for link in network.links:
        with contextlib.suppress(FlightpathError, OSError):  # it has ended
            directions = link.stats()["directions"] if isinstance(link, EmulatedLink) else {}
            for way, carried in directions.items():
                histogram = (carried.get("lateness_ns") or {}).get("histogram") or ()
                name = f"{link.name} ({way.replace('_', ' ')})"
                counted.update({(name, late_bin): count for late_bin, count in enumerate(histogram) if count})
    return counted


def _increase(before: _Lateness, after: _Lateness) -> _Lateness:
    """Returns what histograms have counted; `certify` resets them, and then that is all of it."""
    return after - before if after >= before else after


def _algorithms(networks: Iterable[Mininet]) -> set[str]:
    algorithms = set()
    for host in [host for network in networks for host in network.hosts]:
        with contextlib.suppress(FlightpathError):  # it has ended
            algorithms.add(congestion_control.in_force(host))
    return algorithms


def _sent(network: Mininet) -> int:
    return sum(map(_sent_by, network.hosts))


def _sent_by(host: Node) -> int:
    count = 0
    with contextlib.suppress(OSError):  # it has ended
        folder = Path(f"/proc/{host.pid}/net")
        snmp = (folder / "snmp").read_text()
        count = sum(counters(snmp, group)[name] for group, name in _SENT)
        of_ipv6 = dict(line.split() for line in (folder / "snmp6").read_text().splitlines())
        count += sum(int(of_ipv6.get(name, 0)) for name in _SENT_BY_IPV6)
    return count


CERTIFIER = Certifier()
"""Certifier of all networks of this process."""


def print_certificate() -> None:
    """Prints the certificate of all networks since their start on stderr, if a host has sent anything."""
    if line := CERTIFIER.certificate():
        print(line, end="", file=sys.stderr)
