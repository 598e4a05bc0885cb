"""A connection to a web server or to storage: TLS, and one request after the other (HTTP/1.1, RFC 9112)."""

import contextlib
import fcntl
import hashlib
import socket
import ssl
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse

from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from probes.preflight import sockets
from probes.preflight.records import KernelSample, SocketFacts
from probes.preflight.session import Access, Session
from probes.preflight.sockets import Address
from probes.preflight.spec import TransferSpec
from probes.preflight.target import WebTarget

WEB_ERRORS = (OSError, HTTPException)
"""Exceptions if the connection breaks, or what comes over it is not HTTP."""


@dataclass(frozen=True)
class WebAccess(Access):
    """Whom to trust, and what to show.

    Attributes:
        ca_file: certificates of the authorities to trust, instead of this machine's; "" for those.
        authorization: value of the header of that name; "" without a log-in.
        sign: returns the path of a request, by its method and path, with a signature; streams get paths that have one.
    """

    ca_file: str = ""
    authorization: str = field(default="", repr=False)
    sign: Callable[[str, str], str] | None = None


class WebSession(Session):
    """A connection for requests.

    Attributes:
        connection: its socket; of TLS if the target has it.
    """

    target: WebTarget

    def __init__(self, target: WebTarget, addresses: Sequence[Address], spec: TransferSpec, access: WebAccess) -> None:
        """Connects to the server, and checks its certificate."""
        self.target, self._spec, self._access = target, spec, access
        self._addresses = tuple(addresses)
        self.connection, self.address, self.connect_s = sockets.connect(addresses, spec)
        self._watched = self.connection.dup()  # stays open if the server wants its connection closed after a request
        self.key_exchange_s = self.authentication_s = 0.0
        self._cipher, self._fingerprint, self._server = "none", "", ""
        self._failure: Exception | None = None
        self._known: SocketFacts | None = None
        try:
            if target.tls:
                begun = time.monotonic()
                self._encrypt()
                self.key_exchange_s = time.monotonic() - begun
        except BaseException:
            self.close()
            raise
        self._http = HTTPConnection(target.host, target.port)
        self._http.auto_open = 0  # it would connect by itself
        self._http.sock = self.connection

    @override
    def close(self) -> None:
        self.connection.close()
        self._watched.close()

    def reconnected(self) -> "WebSession":
        """Opens another connection to the same machine."""
        addresses = (self.address,) if self.address else self._addresses
        return WebSession(self.target, addresses, self._spec, self._access)

    @override
    def access_for_streams(self) -> WebAccess:
        return replace(self._access, sign=None)

    @property
    def has_login(self) -> bool:
        """Whether requests show who makes them."""
        return bool(self._access.authorization or self._access.sign)

    def signed(self, method: str, path: str) -> str:
        """Returns the path of a request as it must be sent."""
        return self._access.sign(method, path) if self._access.sign else path

    def send(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """Sends a request without its content."""
        self._http.putrequest(method, path, skip_host=True)
        login = {"Authorization": self._access.authorization} if self._access.authorization else {}
        for name, value in {"Host": self.target.authority, "User-Agent": "flightpath", **login, **headers}.items():
            self._http.putheader(name, value)
        self._http.endheaders()

    def answer(self) -> HTTPResponse:
        """Returns the answer to the request that was sent, without its content.

        Raises:
            OSError, HTTPException: there is none.
        """
        response = self._http.getresponse()
        self._server = response.getheader("Server", self._server)
        return response

    def request(self, method: str, path: str, headers: Mapping[str, str] | None = None) -> HTTPResponse:
        """Sends a request without content, and returns the answer."""
        try:
            self.send(method, path, headers or {})
            return self.answer()
        except WEB_ERRORS as error:
            raise MeasurementFailed(
                f"{self.target.name} does not answer as a web server: {web_reason(error)}", "check the port"
            ) from error

    def wait_without_limit(self) -> None:
        """Lets reads and writes take any time from now on."""
        self.connection.settimeout(None)

    def cut(self) -> None:
        """Ends all reads and writes, also those of another thread."""
        with contextlib.suppress(OSError):
            self._known = self.facts()
            self._watched.shutdown(socket.SHUT_RDWR)

    def has_failed(self, error: Exception) -> None:
        """Notes what ended the connection, for whoever watches it."""
        self._failure = error

    def unacknowledged_bytes(self) -> int:
        """Returns the bytes that were written, and not yet acknowledged by the far end's TCP (SIOCOUTQ, tcp(7))."""
        try:
            return int(struct.unpack("i", fcntl.ioctl(self._watched, termios.TIOCOUTQ, bytes(4)))[0])
        except OSError:  # closed, or MPTCP of an older kernel
            return 0

    @override
    def facts(self) -> SocketFacts:
        try:
            about = {"cipher": self._cipher, "server": self._server, "host_key": self._fingerprint}
            return sockets.facts_of(self._watched, **about)
        except OSError:
            if self._known is None:
                raise
            return self._known  # as it was before it was cut

    @override
    def sample(self) -> KernelSample | None:
        return sockets.sample(self._watched)

    @property
    @override
    def is_active(self) -> bool:
        return self._failure is None

    @property
    @override
    def failure(self) -> Exception | None:
        return self._failure

    def _encrypt(self) -> None:
        where = f"{self.target.host} port {self.target.port}"
        context = tls_context(self._access.ca_file)
        try:
            encrypted = context.wrap_socket(self.connection, server_hostname=self.target.host)
        except ssl.SSLCertVerificationError as error:
            raise MeasurementFailed(
                f"{where}: its certificate is not valid: {error.verify_message}",
                "if an authority of your own has signed it: --ca FILE",
            ) from error
        except ssl.SSLError as error:
            raise MeasurementFailed(
                f"{where} answers, but not with TLS: {web_reason(error)}", "check the port"
            ) from error
        except OSError as error:
            raise MeasurementFailed(f"{where}: the TLS handshake failed: {web_reason(error)}") from error
        self.connection = encrypted
        self._cipher = f"{encrypted.version()} {(encrypted.cipher() or ('?',))[0]}"
        self._fingerprint = f"SHA256:{hashlib.sha256(encrypted.getpeercert(binary_form=True) or b'').hexdigest()}"


def tls_context(ca_file: str) -> ssl.SSLContext:
    """Returns what TLS connections need; raises OSError if the file holds no certificates."""
    context = ssl.create_default_context(cafile=ca_file or None)
    context.set_alpn_protocols(["http/1.1"])
    return context


def web_reason(error: Exception) -> str:
    """Returns a connection's error in words."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or "the connection was closed"
