"""A source of bytes in a host: what a download takes when no program of its own shall stand in the way."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

from services import stream_server
from services.daemon import Daemon, DaemonService
from services.host import ServiceHost, run_in

PORT = 5300


class StreamServer(DaemonService):
    """Sends bytes without end to every connection, as a context manager.

    Args:
        host: where it listens, on all addresses.
        folder: for its log.
        port: to listen on.
        mptcp: whether its socket speaks MPTCP with clients that ask for it.
        on_listening: called with the host once it listens, for example to set the congestion control of listeners.
    """

    def __init__(
        self,
        host: ServiceHost,
        folder: Path,
        *,
        port: int = PORT,
        mptcp: bool = False,
        on_listening: Callable[[ServiceHost], object] = lambda host: None,
    ) -> None:
        self._host, self._folder, self._port, self._mptcp = host, folder, port, mptcp
        self._on_listening = on_listening

    def __enter__(self) -> Self:
        """Starts it; returns when it listens.

        Raises:
            StartFailed: it ended, or does not listen.
        """
        argv = [sys.executable, "-I", "-S", stream_server.__file__, str(self._port), str(int(self._mptcp))]
        log = self._folder / f"stream-{self._host.name}-{self._port}.log"
        self._daemon = Daemon(self._host, "the stream server", argv, log).start(self._is_listening)
        self._on_listening(self._host)
        return self

    def _is_listening(self) -> bool:
        return bool(run_in(self._host, ["ss", "-Htln", f"sport = :{self._port}"]).strip())
