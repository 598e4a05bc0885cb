"""An iperf3 server in a host: the other end of a bulk transfer that only fills the path."""

from collections.abc import Callable
from pathlib import Path
from typing import Self

from services.daemon import Daemon, DaemonService
from services.host import ServiceHost, run_in

PORT = 5201


class Iperf3Server(DaemonService):
    """iperf3 that listens in a host, as a context manager; it serves one test after another.

    Args:
        host: where it listens.
        folder: for its log.
        port: to listen on.
        mptcp: let its sockets speak MPTCP with clients that ask for it.
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
        self._host, self._folder, self._port = host, folder, port
        self._wrapper = ["mptcpize", "run"] if mptcp else []
        self._on_listening = on_listening

    def __enter__(self) -> Self:
        """Starts it; returns when it listens.

        Raises:
            StartFailed: it ended, or does not listen.
        """
        argv = [*self._wrapper, "iperf3", "--server", "--port", str(self._port)]
        log = self._folder / f"iperf3-{self._host.name}-{self._port}.log"
        self._daemon = Daemon(self._host, "iperf3", argv, log).start(self._is_listening)
        self._on_listening(self._host)
        return self

    def _is_listening(self) -> bool:
        return bool(run_in(self._host, ["ss", "-Htln", f"sport = :{self._port}"]).strip())
