"""A QUIC server in a host: a source and a sink of bytes."""

import datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from flightpath.errors import UsageError
from flightpath.hosts import Host, run_in
from flightpath.overrides import override
from services.quic.implementation import Implementation, ServerSettings
from services.running.daemon import DaemonService

_FROM, _UNTIL = datetime.datetime(2020, 1, 1), datetime.datetime(2100, 1, 1)


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
        write_certificate(self.settings)

    @override
    def _argv(self) -> list[str]:
        return self._wrapped(*self.implementation.server_command(self.settings))

    @override
    def _is_ready(self) -> bool:
        return bool(run_in(self.host, ["ss", "-Hanu", f"sport = :{self.port}"]).strip())


def write_certificate(settings: ServerSettings) -> None:
    """Writes a certificate for `localhost` and its key to the settings' files."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)  # its signatures all have one length
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    settings.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    settings.key.write_bytes(key.private_bytes(*form))
