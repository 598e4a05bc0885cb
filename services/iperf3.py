"""An iperf3 server in a host, which fills a path for measurements of throughput."""

from flightpath.overrides import override
from services.running.daemon import DaemonService


class Iperf3Server(DaemonService):
    """An iperf3 server; it serves one test after another."""

    daemon_name, log_name, usual_port = "iperf3", "iperf3-{host}-{port}.log", 5201

    @override
    def _argv(self) -> list[str]:
        return self._wrapped("iperf3", "--server", "--port", str(self.port))
