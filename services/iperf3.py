"""An iperf3 server in a host, which fills a path for measurements of throughput."""

from pathlib import Path
from typing import Any

from flightpath.hosts import Host
from flightpath.overrides import override
from services.running.daemon import DaemonService


class Iperf3Server(DaemonService):
    """An iperf3 server; it serves one test after another, and its clients get what it counted.

    Args:
        host: host in which it runs.
        folder: folder for its log.
        interval_s: interval in which it counts; a client cannot ask for one.
        **options: those of `DaemonService`.
    """

    daemon_name, log_name, usual_port = "iperf3", "iperf3-{host}-{port}.log", 5201

    def __init__(self, host: Host, folder: Path, *, interval_s: float = 0.5, **options: Any) -> None:
        super().__init__(host, folder, **options)
        self._interval_s = interval_s

    @override
    def _argv(self) -> list[str]:
        counting = ["--json", "--interval", f"{self._interval_s:g}"]
        return self._wrapped("iperf3", "--server", *counting, "--port", str(self.port))
