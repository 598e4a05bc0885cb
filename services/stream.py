"""Servers for streams of bytes: a source and a sink that cost little processor time."""

import sys

from services import stream_server
from services.running.daemon import ListeningService


class StreamServer(ListeningService):
    """Sends bytes without end to every connection."""

    name, log_name = "the stream server", "stream"
    usual_port = 5300
    _role = "source"

    def _argv(self) -> list[str]:
        program = [sys.executable, "-I", "-S", stream_server.__file__]
        return [*program, self._role, str(self._port), str(int(self._mptcp))]


class StreamSink(StreamServer):
    """Discards what every connection sends."""

    name, log_name = "the stream sink", "stream_sink"
    usual_port = 5301
    _role = "sink"
