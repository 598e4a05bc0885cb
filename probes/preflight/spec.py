"""What to transfer and how, checked before anything is connected: else a typing error would cost a measurement."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from flightpath.errors import UsageError
from flightpath.units import parse_bandwidth, parse_bytes, parse_duration

MAX_STREAMS = 64
MAX_ITERATIONS = 10_000
DEFAULT_TIME_LIMIT_S = 10.0
DEFAULT_CIPHER = "aes128-gcm@openssh.com"
NULL_SINK = "/dev/null"
_LARGEST_MSS = 65_495
_SMALLEST_MSS = 88  # the kernel's TCP_MIN_MSS


class Direction(StrEnum):
    """Which way the bytes go, seen from the machine that runs the probe."""

    DOWNLOAD = "download"
    UPLOAD = "upload"


class Connections(StrEnum):
    """Whether every stream has a TCP connection of its own, or all are channels of one."""

    EACH = "each"
    ONE = "one"


class Family(StrEnum):
    """The IP version to use."""

    ANY = "any"
    IPV4 = "4"
    IPV6 = "6"


@dataclass(frozen=True)
class TransferSpec:
    """One measurement, completely.

    An iteration ends when `size_bytes` have been moved, or at the time or byte limit, whichever is first. If neither
    size nor limit is given, the whole of `remote_file` is moved; without a file, for `DEFAULT_TIME_LIMIT_S` seconds.

    Attributes:
        direction: seen from here.
        size_bytes: bytes of an iteration, all streams together (of each stream, if `whole_each`).
        remote_file: the file to download; None lets the probe make one in a temporary folder at the far end, and remove
            it. Uploads always go into such a folder.
        remote_folder: where the temporary folder is made; "" is where the far end's SFTP starts.
        iterations: how often; each has connections of its own.
        streams: how many transfers run at the same time.
        connections: a TCP connection for each stream, or one for all.
        whole_each: every stream moves everything, instead of its share.
        send_buffer_bytes, receive_buffer_bytes: SO_SNDBUF and SO_RCVBUF, set before connecting; None leaves them to the
            kernel, which then sizes them by itself.
        ssh_window_bytes: SSH's own window for each stream, and so the most that is asked for in advance; None is chosen
            large enough not to matter. Applies to downloads: the far end has its own for uploads.
        request_bytes: of one SFTP read or write; None is the largest that the far end says it serves.
        window_clamp_bytes: TCP_WINDOW_CLAMP, an upper bound of the window that TCP offers.
        mss_bytes: TCP_MAXSEG, set before connecting.
        congestion_control: TCP_CONGESTION of this end's sockets; for a download the far end's algorithm decides.
        mptcp: open MPTCP sockets; whether the far end agreed is in the result.
        family: IP version.
        cipher: SSH's name of it.
        time_limit_s: seconds of transfer in one iteration.
        byte_limit: bytes of one iteration, all streams together.
        rate_limit_bps: of all streams together.
        sink: where downloads go: `/dev/null`, or a file.
        interval_s: how often throughput and the kernel's view of the connection are noted.
        stall_limit_s: a far end that sends nothing for so long has stalled.
        connect_limit_s: for name, TCP, SSH and log-in, each.
        route: trace the route.
        iperf3_port: measure with iperf3 beside it, if not None.
    """

    direction: Direction = Direction.DOWNLOAD
    size_bytes: int | None = None
    remote_file: str | None = None
    remote_folder: str = ""
    iterations: int = 1
    streams: int = 1
    connections: Connections = Connections.EACH
    whole_each: bool = False
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    ssh_window_bytes: int | None = None
    request_bytes: int | None = None
    window_clamp_bytes: int | None = None
    mss_bytes: int | None = None
    congestion_control: str | None = None
    mptcp: bool = False
    family: Family = Family.ANY
    cipher: str = DEFAULT_CIPHER
    time_limit_s: float | None = None
    byte_limit: int | None = None
    rate_limit_bps: int | None = None
    sink: str = NULL_SINK
    interval_s: float = 0.5
    stall_limit_s: float = 30.0
    connect_limit_s: float = 15.0
    route: bool = True
    iperf3_port: int | None = None

    def __post_init__(self) -> None:
        """Raises UsageError if the fields contradict each other or are out of range."""
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise UsageError(f"{_option(name)}: {value:g} is not between {low:g} and {high:g}")
        if self.direction is Direction.UPLOAD and self.remote_file is not None:
            raise UsageError(
                "an upload goes into a temporary folder of its own, never into a file that is there",
                "leave the remote file out; --remote-folder says where the folder is made",
            )
        if self.direction is Direction.UPLOAD and self.sink != NULL_SINK:
            raise UsageError("--to: is for downloads", "an upload writes at the far end only")
        if self.sink != NULL_SINK and self.fills_the_time:
            raise UsageError("--to: a file needs a size", "add --size, or name a remote file")

    @property
    def fills_the_time(self) -> bool:
        """Whether the transfer goes on until a limit, over and over the same file."""
        return self.size_bytes is None and self.remote_file is None

    @property
    def duration_limit_s(self) -> float | None:
        """The seconds after which an iteration's transfer ends by itself, or None."""
        if self.time_limit_s is None and self.byte_limit is None and self.fills_the_time:
            return DEFAULT_TIME_LIMIT_S
        return self.time_limit_s

    @classmethod
    def parse(cls, texts: Mapping[str, Any]) -> Self:
        """A specification from what people write: `{"size_bytes": "2GB", "time_limit_s": "10s", "streams": "8"}`.

        Args:
            texts: by the names of the fields; what is no text, or None for "not given", is taken as it is.

        Raises:
            UsageError: names the option, the text and the accepted forms.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := set(texts) - known:
            raise UsageError(f"unknown: {', '.join(sorted(unknown))}", f"known: {', '.join(sorted(known))}")
        defaults = {field.name: field.default for field in dataclasses.fields(cls)}
        given = {name: value for name, value in texts.items() if value is not None or defaults[name] is None}
        return cls(**{name: _read(name, value) for name, value in given.items()})


def _read(name: str, value: Any) -> Any:
    if not isinstance(value, str) or name not in _READERS:
        return value
    return _READERS[name](value, _option(name))


def _whole(text: str, field: str) -> int:
    if not text.strip().isdecimal():
        raise UsageError(f"{field}: {text!r} is not a whole number")
    return int(text)


def _choice(kind: type[StrEnum]) -> Callable[[str, str], StrEnum]:
    def read(text: str, field: str) -> StrEnum:
        try:
            return kind(text.strip().lower())
        except ValueError:
            raise UsageError(f"{field}: {text!r} is unknown", f"choose one of {', '.join(kind)}") from None

    return read


def _option(name: str) -> str:
    """The option that sets a field, for messages."""
    return _OPTIONS.get(name) or "--" + name.removesuffix("_bytes").removesuffix("_s").replace("_", "-")


_OPTIONS: Mapping[str, str] = {
    "sink": "--to",
    "time_limit_s": "--time",
    "byte_limit": "--bytes",
    "rate_limit_bps": "--rate",
    "iperf3_port": "--iperf3",
    "mss_bytes": "--mss",
}
_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "direction": _choice(Direction),
    "connections": _choice(Connections),
    "family": _choice(Family),
    "size_bytes": parse_bytes,
    "mss_bytes": _whole,
    "byte_limit": parse_bytes,
    "rate_limit_bps": parse_bandwidth,
    **dict.fromkeys(("iterations", "streams", "iperf3_port"), _whole),
    **dict.fromkeys(
        ("send_buffer_bytes", "receive_buffer_bytes", "ssh_window_bytes", "request_bytes", "window_clamp_bytes"),
        parse_bytes,
    ),
    **dict.fromkeys(("time_limit_s", "interval_s", "stall_limit_s", "connect_limit_s"), parse_duration),
}
_RANGES: tuple[tuple[str, float, float], ...] = (
    ("streams", 1, MAX_STREAMS),
    ("iterations", 1, MAX_ITERATIONS),
    ("size_bytes", 1, 2**62),
    ("send_buffer_bytes", 1, 2**30),
    ("receive_buffer_bytes", 1, 2**30),
    ("ssh_window_bytes", 1024, 2**31),
    ("request_bytes", 512, 2**24),
    ("window_clamp_bytes", 1, 2**30),
    ("mss_bytes", _SMALLEST_MSS, _LARGEST_MSS),
    ("time_limit_s", 0.1, math.inf),
    ("byte_limit", 1, 2**62),
    ("rate_limit_bps", 1000, 1e15),
    ("interval_s", 0.05, 3600),
    ("stall_limit_s", 0.5, 86_400),
    ("connect_limit_s", 0.1, 3600),
    ("iperf3_port", 1, 65_535),
)
