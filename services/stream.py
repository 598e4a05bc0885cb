"""A source of bytes in a host: what a download takes when no program of its own shall stand in the way."""

import sys

from services import stream_server
from services.running.daemon import ListeningService


class StreamServer(ListeningService):
    """Sends bytes without end to every connection."""

    name, log_name = "the stream server", "stream"
    usual_port = 5300

    def _argv(self) -> list[str]:
        return [sys.executable, "-I", "-S", stream_server.__file__, str(self._port), str(int(self._mptcp))]
