"""Servers for streams of bytes: a source and a sink that cost little processor time."""

import sys

from flightpath.overrides import override
from services import stream_server
from services.running.daemon import DaemonService


class StreamServer(DaemonService):
    """Sends bytes without end to every client."""

    daemon_name, log_name, usual_port = "the stream server", "stream-{host}-{port}.log", 5300
    _role = "source"

    @override
    def _argv(self) -> list[str]:
        program = [sys.executable, "-I", "-S", stream_server.__file__]
        return [*program, self._role, str(self.port), str(int(self._mptcp))]


class StreamSink(StreamServer):
    """Discards what every connection sends."""

    daemon_name, log_name, usual_port = "the stream sink", "stream_sink-{host}-{port}.log", 5301
    _role = "sink"
