"""A download by FTP, with wget: what the papers on multipath tunnels measure beside iperf3."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flightpath.commands import over_mptcp
from flightpath.errors import MeasurementFailed
from flightpath.hosts import Host, await_end, running
from results.records import Measurement, Metric

_NULL = Path(os.devnull)
_CONCLUSION = re.compile(r"\((?P<rate>[0-9.]+) (?P<unit>[KMG]?)b/s\) - .* saved \[(?P<size>[0-9]+)\]")
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True)
class FtpDownload:
    """One file from a server (`services.vsftpd`) that lets anybody in.

    Attributes:
        file: its name there.
        size_bytes: its size: a download of another has failed.
        port: of the server.
        mptcp: ask for MPTCP, by `mptcpize`.
        to: where it goes, in the sandbox; nowhere by default.
        limit_s: how long it may take.
    """

    file: str
    size_bytes: int
    port: int = 2121
    mptcp: bool = False
    to: Path = _NULL
    limit_s: float = 600.0

    def run(self, client: Host, address: str, *, watch: Callable[[], None] = lambda: None) -> Measurement:
        """Downloads it.

        Args:
            client: host in which wget runs.
            address: of the server, IPv4 or IPv6.
            watch: called a few times a second; what it raises ends the download.

        Returns:
            Metrics `goodput` (bit/s, payload, of the transfer alone, as wget tells it: three digits) and `download`
            (s, the same).

        Raises:
            MeasurementFailed: it failed, took too long, or brought another number of bytes; with what wget said.
        """
        what = f"ftp from {address} to {client.name}"
        with running(client, self._command(address)) as process:
            _, said = await_end(process, self.limit_s, watch, f"{what}: no end after {self.limit_s:g} s")
        told = _CONCLUSION.search(said)
        if process.returncode != 0 or told is None:
            raise MeasurementFailed(f"{what}: wget: exit code {process.returncode}: {' '.join(said.split())[-500:]}")
        if int(told["size"]) != self.size_bytes:
            raise MeasurementFailed(f"{what}: {told['size']} bytes came of {self.size_bytes}")
        goodput_bps = float(told["rate"]) * _SCALES[told["unit"]]
        return Measurement(
            {"goodput": Metric(goodput_bps, "bit/s"), "download": Metric(8 * self.size_bytes / goodput_bps, "s")}
        )

    def _command(self, address: str) -> list[str]:
        host = f"[{address}]" if ":" in address else address
        options = ["--no-hsts", "--no-config", "--no-proxy", "--tries=1", "--progress=dot:giga", "--report-speed=bits"]
        url = f"ftp://{host}:{self.port}/{self.file}"
        command = ["wget", *options, f"--output-document={self.to}", url]
        return ["env", "LC_ALL=C", *over_mptcp(self.mptcp), *command]
