"""The contract of a QUIC implementation: how its program is made and called, and what it reports."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from flightpath.errors import MeasurementFailed, MissingCapability, UsageError
from flightpath.hosts import endpoint
from services.reply import RequestPattern

_SOURCES = Path(__file__).parent


@dataclass(frozen=True)
class ServerSettings:
    """Settings of a server.

    Attributes:
        folder: folder with `certificate.pem` and `key.pem`.
        paths: maximum number of paths of a connection; 1 does without multipath.
    """

    address: str
    port: int
    folder: Path
    congestion_control: str
    paths: int

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.pem"

    @property
    def key(self) -> Path:
        return self.folder / "key.pem"


@dataclass(frozen=True)
class Request:
    """A transfer, as a client is asked for it.

    Attributes:
        addresses: the server's address on each path, in the order in which the paths are opened.
        pattern: requests in place of one transfer, each on a stream of its own.
    """

    addresses: Sequence[str]
    size_bytes: int
    is_upload: bool
    server: ServerSettings
    pattern: RequestPattern | None = None

    @property
    def words(self) -> list[str]:
        """Arguments of the client's command: its task."""
        if self.pattern is None:
            return ["upload" if self.is_upload else "download", str(self.size_bytes)]
        interval_us = round(self.pattern.interval_s * 1e6)
        return ["requests", *map(str, (self.pattern.count, self.pattern.size_bytes, interval_us))]


@dataclass(frozen=True)
class Report:
    """An implementation's own account of a transfer; packets are those of the sender.

    Attributes:
        seconds: from the client's first packet to the last byte.
        rtt_ms: smoothed round trip of each of the sender's paths at the end.
        algorithms: congestion controls that the sender's paths really had.
        times_ms: time of each request, from the moment at which it was due to the last byte of the answer.
        facts: everything that its programs reported.
    """

    bytes: int
    seconds: float
    sent_packets: int
    lost_packets: int
    rtt_ms: Sequence[float]
    algorithms: Sequence[str]
    facts: Mapping[str, Any]
    times_ms: Sequence[float] = ()


class Implementation(ABC):
    """A QUIC implementation, and a program of ours that is its server and its client.

        PROGRAM server ADDRESS:PORT CERTIFICATE KEY CONGESTION PATHS
        PROGRAM download|upload BYTES CERTIFICATE CONGESTION ADDRESS:PORT...
        PROGRAM requests COUNT BYTES INTERVAL_US CERTIFICATE CONGESTION ADDRESS:PORT...

    A client prints one JSON object: `bytes`, `seconds`, `handshake_s`, of requests `times_ms`, and the `client`'s and
    the `server`'s accounts. Each of these has `paths`, with `congestion_control` (the name of the object that controls
    the path), `rtt_ms`, `sent_packets` and `lost_packets`. Without an interval a request waits for the answer before.

    Attributes:
        version: pinned version.
        multipath_draft: version of draft-ietf-quic-multipath that it speaks; empty without multipath.
        sources: files of ours from which its program is made.
        algorithms: what its program calls a congestion control, and what it reports of it, by the kernel's name.
    """

    name: str
    version: str
    multipath_draft = ""
    sources: Sequence[str]
    algorithms: ClassVar[Mapping[str, tuple[str, str]]]

    @abstractmethod
    def build(self, folder: Path) -> None:
        """Makes its program in a new folder, which is moved to `home` afterwards."""

    @abstractmethod
    def program(self) -> list[str]:
        """Returns the command of its program."""

    def server_command(self, settings: ServerSettings) -> list[str]:
        """Returns the command of a server; raises MissingCapability if its program is not built."""
        algorithm, _ = self.algorithm(settings.congestion_control)
        listen, files = endpoint(settings.address, settings.port), (str(settings.certificate), str(settings.key))
        return [*self._built_program(), "server", listen, *files, algorithm, str(settings.paths)]

    def client_command(self, request: Request) -> list[str]:
        """Returns the command of a client; raises MissingCapability if its program is not built."""
        server = request.server
        algorithm, _ = self.algorithm(server.congestion_control)
        endpoints = [endpoint(address, server.port) for address in request.addresses]
        return [*self._built_program(), *request.words, str(server.certificate), algorithm, *endpoints]

    def report(self, request: Request, stdout: str) -> Report:
        """Reads what a client printed; raises ValueError or KeyError if that is something else."""
        facts = json.loads(stdout)
        sender = facts["client" if request.is_upload else "server"]["paths"]
        return Report(
            bytes=facts.pop("bytes"),
            seconds=facts.pop("seconds"),
            sent_packets=sum(path["sent_packets"] for path in sender),
            lost_packets=sum(path["lost_packets"] for path in sender),
            rtt_ms=[path["rtt_ms"] for path in sender],
            algorithms=sorted({path["congestion_control"] for path in sender}),
            times_ms=facts.pop("times_ms", ()),
            facts=facts,
        )

    @property
    def home(self) -> Path:
        """Folder of its program, never in the checkout.

        It is in the home folder whatever XDG_CACHE_HOME says: `HOME` is the only variable that guests get.
        """
        made_from = hashlib.sha256(b"".join(source(name).read_bytes() for name in self.sources))
        folder = Path.home() / ".cache" / "flightpath" / "quic"
        return folder / f"{self.name}-{self.version}-{made_from.hexdigest()[:12]}"

    def require(self) -> None:
        """Raises MissingCapability if its program is not built."""
        if not self.home.exists():
            raise MissingCapability(f"the QUIC implementation {self.name} {self.version} is not built", "make quic")

    def algorithm(self, name: str) -> tuple[str, str]:
        """Returns what its program calls a congestion control, and what it reports of it.

        Raises:
            UsageError: it has no such congestion control.
        """
        if name not in self.algorithms:
            known = ", ".join(self.algorithms)
            raise UsageError(f"{self.name} has no congestion control {name!r}", f"choose one of {known}")
        return self.algorithms[name]

    def require_algorithm(self, report: Report, name: str) -> None:
        """Raises MeasurementFailed if the sender's paths had another congestion control than this one."""
        _, reported = self.algorithm(name)
        if others := set(report.algorithms) - {reported}:
            raise MeasurementFailed(f"{self.name} used {', '.join(sorted(others))} instead of {name}")

    def _built_program(self) -> list[str]:
        self.require()
        return self.program()


def source(name: str) -> Path:
    """Returns the path of one of our files."""
    return _SOURCES / name
