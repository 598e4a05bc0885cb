"""A QUIC server in a host: a source and a sink of bytes."""

from pathlib import Path
from typing import Any

from flightpath.errors import UsageError
from flightpath.hosts import Host, run_in
from flightpath.overrides import override
from services.quic.implementation import Implementation, ServerSettings
from services.running.certificates import write_certificate
from services.running.daemon import DaemonService


class QuicServer(DaemonService):
    """A server of one implementation, with a certificate of its own, which its clients trust.

    Args:
        host: host in which it runs.
        folder: folder for its certificate and log; made if it does not exist.
        congestion_control: by the kernel's name.
        paths: maximum number of paths of a connection; 1 does without multipath.
        address: address on which it listens.

    Raises:
        UsageError: the implementation has no such congestion control, or no multipath.
    """

    daemon_name, log_name, usual_port = "the QUIC server", "quic-{host}-{port}.log", 4433

    def __init__(
        self,
        host: Host,
        folder: Path,
        implementation: Implementation,
        *,
        congestion_control: str = "cubic",
        paths: int = 1,
        address: str = "0.0.0.0",
        **options: Any,
    ) -> None:
        super().__init__(host, folder, **options)
        implementation.algorithm(congestion_control)
        if paths > 1 and not implementation.multipath_draft:
            raise UsageError(f"paths: {paths}, but {implementation.name} has no multipath")
        self.implementation = implementation
        self.settings = ServerSettings(address, self.port, self.folder, congestion_control, paths)

    @override
    def _prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_certificate(self.settings.certificate, self.settings.key, "localhost")

    @override
    def _argv(self) -> list[str]:
        return self._wrapped(*self.implementation.server_command(self.settings))

    @override
    def _is_ready(self) -> bool:
        return bool(run_in(self.host, ["ss", "-Hanu", f"sport = :{self.port}"]).strip())
