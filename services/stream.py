"""A server in a host that sends bytes without end, for downloads that no other program should slow down."""

import sys

from flightpath.overrides import override
from services import stream_server
from services.running.daemon import DaemonService


class StreamServer(DaemonService):
    """Sends bytes without end to every client."""

    daemon_name, log_name, usual_port = "the stream server", "stream-{host}-{port}.log", 5300

    @override
    def _argv(self) -> list[str]:
        return [sys.executable, "-I", "-S", stream_server.__file__, str(self.port), str(int(self._mptcp))]
