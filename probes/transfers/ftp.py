"""A download by FTP with wget, as in the papers on multipath tunnels."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flightpath.commands import over_mptcp
from flightpath.errors import MeasurementFailed
from flightpath.hosts import Host, await_end, endpoint, running
from probes.probe import Probe
from results.records import Measurement, Metric

_NULL = Path(os.devnull)
_SUMMARY = re.compile(r"\((?P<rate>[0-9.]+) (?P<unit>[KMG]?)b/s\) - .* saved \[(?P<size>[0-9]+)\]")
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True)
class FtpDownload(Probe):
    """The download of a file from a server without log-in (`services.vsftpd`).

    Attributes:
        file: its name on the server.
        size_bytes: its size; a download of another size has failed.
        to: target file; none by default.
    """

    file: str
    size_bytes: int
    port: int = 2121
    mptcp: bool = False
    to: Path = _NULL
    limit_s: float = 600.0

    def run(self, host: Host, address: str, *, watch: Callable[[], None] = lambda: None) -> Measurement:
        """Downloads; see `Probe.run`.

        Returns:
            Metrics `goodput` (bit/s, payload, of the transfer alone, with three digits as wget prints it) and
            `download` (s, the same).
        """
        name = f"ftp from {address} to {host.name}"
        with running(host, self._command(address)) as process:
            _, stderr = await_end(process, self.limit_s, watch, f"{name}: no end after {self.limit_s:g} s")
        summary = _SUMMARY.search(stderr)
        if process.returncode != 0 or summary is None:
            raise MeasurementFailed(f"{name}: wget: exit code {process.returncode}: {' '.join(stderr.split())[-500:]}")
        if int(summary["size"]) != self.size_bytes:
            raise MeasurementFailed(f"{name}: {summary['size']} bytes came of {self.size_bytes}")
        goodput_bps = float(summary["rate"]) * _SCALES[summary["unit"]]
        return Measurement(
            {"goodput": Metric(goodput_bps, "bit/s"), "download": Metric(8 * self.size_bytes / goodput_bps, "s")}
        )

    def _command(self, address: str) -> list[str]:
        options = ["--no-hsts", "--no-config", "--no-proxy", "--tries=1", "--progress=dot:giga", "--report-speed=bits"]
        url = f"ftp://{endpoint(address, self.port)}/{self.file}"
        command = ["wget", *options, f"--output-document={self.to}", url]
        return ["env", "LC_ALL=C", *over_mptcp(self.mptcp), *command]
