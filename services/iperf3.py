"""An iperf3 server in a host: the other end of a bulk transfer that only fills the path."""

from flightpath.commands import over_mptcp
from services.running.daemon import ListeningService


class Iperf3Server(ListeningService):
    """iperf3 that listens in a host; it serves one test after another."""

    name = log_name = "iperf3"
    usual_port = 5201

    def _argv(self) -> list[str]:
        return [*over_mptcp(self._mptcp), "iperf3", "--server", "--port", str(self._port)]
