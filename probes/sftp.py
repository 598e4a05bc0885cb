"""Downloads by SFTP between two hosts, as `preflight` makes them between real machines."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flightpath.hosts import Host
from probes.preflight import PreflightResult, TransferSpec
from probes.preflight.measure.run_in_host import run_in
from probes.probe import Probe
from results.records import Measurement, Metric, Series


@dataclass(frozen=True)
class SftpTransfer(Probe):
    """One measurement by preflight.

    Attributes:
        ssh_config: file for `ssh -F` (`services.sshd.Sshd.client_configuration`); the user's own by default.
    """

    spec: TransferSpec
    ssh_config: Path | None = None

    def run(self, host: Host, address: str, *, watch: Callable[[], None] = lambda: None) -> Measurement:
        """Transfers; the address is `[USER@]HOST`, or a Host of the configuration; watches when all has ended.

        Returns:
            Metrics `goodput` (bit/s) and `rtt` (ms), medians of all iterations; `connect` and `first_byte` (ms),
            `cpu_client` (% of a core), and `download` (s) if the specification has a size, of the first; series
            `goodput` (bit/s) of the first. The fact `limit` says what limited the transfer if not the path.
        """
        result = run_in(host, address, self.spec, ssh_config=self.ssh_config)
        watch()
        return _measurement(result)


def _measurement(result: PreflightResult) -> Measurement:
    first = result.iterations[0]
    metrics = {
        "goodput": Metric(result.goodput_bps or 0.0, "bit/s"),
        "first_byte": Metric(first.phases.first_byte_s * 1e3, "ms"),
        "connect": Metric(first.phases.connect_s * 1e3, "ms"),
        "cpu_client": Metric(100 * first.cpu_s / first.transfer_s if first.transfer_s else 0.0, "%"),
    }
    if not result.spec.fills_the_time:
        metrics["download"] = Metric(first.transfer_s, "s")
    if result.rtt_ms is not None:
        metrics["rtt"] = Metric(result.rtt_ms, "ms")
    times = tuple(interval.start_s for interval in first.intervals)
    goodput = Series("bit/s", times, tuple(interval.throughput_bps for interval in first.intervals))
    facts = {
        "limit": "" if result.verdict.measures_path else f"{result.verdict}: {first.reason}",
        "congestion_control": sorted({stream.connection.congestion_control for stream in first.streams}),
        "notes": list(result.notes),
    }
    return Measurement(metrics, {"goodput": goodput}, facts)
