"""The specification of a transfer, with the command-line option and the bounds of each field; records from JSON."""

import math
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self, TypeVar

from flightpath.errors import UsageError
from flightpath.units import parse_bandwidth, parse_bytes, parse_duration

_Record = TypeVar("_Record")

MAX_STREAMS = 64
DEFAULT_TIME_LIMIT_S = 10.0
DEFAULT_CIPHER = "aes128-gcm@openssh.com"
NULL_SINK = "/dev/null"
_AS_BEFORE = (("client", "built-in"), ("endpoint", None))
_SIZES = (1, 2**62)
_BUFFERS = (1, 2**30)
_SEGMENTS = (88, 65_495)  # the kernel's TCP_MIN_MSS, and what fits into an IPv4 packet


class Direction(StrEnum):
    """Direction of the data, seen from the machine that runs the probe."""

    DOWNLOAD = "download"
    UPLOAD = "upload"


class Connections(StrEnum):
    """Whether each stream has a TCP connection of its own, or all are channels of one SSH connection."""

    EACH = "each"
    ONE = "one"


class Client(StrEnum):
    """The program that speaks SSH: paramiko in the probe's own processes, or ssh(1)."""

    BUILT_IN = "built-in"
    OPENSSH = "openssh"


class Family(StrEnum):
    """The IP version to use."""

    ANY = "any"
    IPV4 = "4"
    IPV6 = "6"


@dataclass(frozen=True)
class Option:
    """The command-line option of a field of `TransferSpec`.

    Attributes:
        usage: flags, the last of which names the field in messages, and metavar.
        read: converts the text to the value; also gets the name for messages.
        bounds: smallest and largest number allowed.
        arguments: further arguments for `argparse`.
    """

    usage: str
    help: str
    read: Callable[[str, str], Any] = lambda text, name: text
    bounds: tuple[float, float] = (-math.inf, math.inf)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def flag(self) -> str:
        return self.usage.split()[-2]


Switch = Mapping[str, tuple[Any, str]]
"""Options without a value that set a field: the field's value and the help, by flag."""

Options = Mapping[str, Option | Switch]
"""Options by field."""


@dataclass(frozen=True)
class TransferSpec:
    """One measurement, completely; the options below explain the fields.

    An iteration ends when `size_bytes` have been moved, or at the time or byte limit, whichever comes first. Without
    size and limit, all of `remote_file` is moved; without a file too, the transfer takes `DEFAULT_TIME_LIMIT_S`
    seconds. Uploads go into a temporary folder, and a download without `remote_file` comes from one. A web server has
    no such folders: there uploads are temporary files, and downloads need a `remote_file`.
    """

    # pydantic's name; not a field
    __pydantic_config__ = {"extra": "forbid", "strict": True, "allow_inf_nan": False}  # noqa: RUF012

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
    client: Client = Client.BUILT_IN
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
    endpoint: str | None = None

    def __post_init__(self) -> None:
        for name, option in _OPTIONS.items():
            value = getattr(self, name)
            if isinstance(option, Option) and isinstance(value, (int, float)):
                low, high = option.bounds
                if not low <= value <= high:
                    raise UsageError(f"{option.flag}: {value:g} is not between {low:g} and {high:g}")
        if self.direction is Direction.UPLOAD and self.remote_file is not None:
            raise UsageError(
                "an upload goes into a temporary folder of its own, never into a file that is there",
                "leave the remote file out; --remote-folder says where the folder is made (a URL ends with / then)",
            )
        if self.direction is Direction.UPLOAD and self.sink != NULL_SINK:
            raise UsageError("--to: is for downloads", "an upload writes at the far end only")
        if self.sink != NULL_SINK and self.fills_the_time:
            raise UsageError("--to: a file needs a size", "add --size, or name a remote file")

    @property
    def fills_the_time(self) -> bool:
        """Whether the transfer repeats the same file until a limit ends it."""
        return self.size_bytes is None and self.remote_file is None

    @property
    def duration_limit_s(self) -> float | None:
        """The seconds after which an iteration's transfer ends, or None."""
        if self.time_limit_s is None and self.byte_limit is None and self.fills_the_time:
            return DEFAULT_TIME_LIMIT_S
        return self.time_limit_s

    def as_json(self) -> dict[str, Any]:
        """Returns the fields as JSON values; newer ones are left out if they are as before there were others."""
        return {name: value for name, value in asdict(self).items() if (name, value) not in _AS_BEFORE}

    @classmethod
    def parse(cls, texts: Mapping[str, Any]) -> Self:
        """Returns a specification from texts: `{"size_bytes": "2GB", "streams": "8"}`; None means "not set".

        Raises:
            UsageError: a text cannot be read (names the option and the accepted forms), or a name is unknown.
        """
        return cls(**read_fields(texts))


def _whole(text: str, name: str) -> int:
    if not text.strip().isdecimal():
        raise UsageError(f"{name}: {text!r} is not a whole number")
    return int(text)


TRANSFER: Options = {
    "direction": {"--upload": (Direction.UPLOAD, "send data to the far end, instead of fetching it")},
    "size_bytes": Option("--size SIZE", "bytes to move in each iteration, all streams together", parse_bytes, _SIZES),
    "time_limit_s": Option(
        "--time TIME", "end the transfer of each iteration after this time", parse_duration, (0.1, math.inf)
    ),
    "byte_limit": Option("--bytes SIZE", "end the transfer of each iteration after so many bytes", parse_bytes, _SIZES),
    "rate_limit_bps": Option("--rate RATE", "limit the rate of all streams together", parse_bandwidth, (1000, 1e15)),
    "iterations": Option(
        "-n --iterations N", "measure N times, each time over new connections (1)", _whole, (1, 10_000)
    ),
    "streams": Option(
        "-P --streams N", f"run N transfers at the same time (1, at most {MAX_STREAMS})", _whole, (1, MAX_STREAMS)
    ),
    "connections": {"--one-connection": (Connections.ONE, "all streams share one connection")},
    "whole_each": {"--each": (True, "each stream moves the whole size, not its share")},
    "sink": Option("--to FILE", f"where to write a download ({NULL_SINK})"),
    "remote_folder": Option("--remote-folder DIR", "where to make the temporary folder (the home)"),
}
CONNECTION: Options = {
    "family": {"-4": (Family.IPV4, "use IPv4 only"), "-6": (Family.IPV6, "use IPv6 only")},
    "client": {
        "--openssh": (
            Client.OPENSSH,
            "connect by ssh(1), which takes each stream at most 2 MiB per round trip; chosen by itself where only that "
            "reaches the host",
        )
    },
    "mptcp": {"--mptcp": (True, "use Multipath TCP if the far end speaks it")},
    "send_buffer_bytes": Option("--send-buffer SIZE", "SO_SNDBUF of each socket", parse_bytes, _BUFFERS),
    "receive_buffer_bytes": Option("--receive-buffer SIZE", "SO_RCVBUF of each socket", parse_bytes, _BUFFERS),
    "window_clamp_bytes": Option("--window-clamp SIZE", "TCP_WINDOW_CLAMP of each socket", parse_bytes, _BUFFERS),
    "mss_bytes": Option("--mss BYTES", "TCP_MAXSEG of each socket, a number without unit", _whole, _SEGMENTS),
    "congestion_control": Option(
        "--congestion-control NAME", "algorithm of this end; a download depends on the far end's"
    ),
    "ssh_window_bytes": Option(
        "--ssh-window SIZE", "SSH's own window of each download (128MiB)", parse_bytes, (1024, 2**31)
    ),
    "request_bytes": Option(
        "--request SIZE", "size of each SFTP read or write (the far end's limit)", parse_bytes, (512, 2**24)
    ),
    "cipher": Option("--cipher NAME", f"SSH's name of the cipher ({DEFAULT_CIPHER})"),
    "endpoint": Option("--endpoint URL", "where the storage of s3://BUCKET is (AWS_ENDPOINT_URL, or Amazon's)"),
}
FAR_END: Options = {
    "connect_limit_s": Option(
        "--connect-limit TIME", "time limit of each step of connecting (15s)", parse_duration, (0.1, 3600)
    ),
    "stall_limit_s": Option(
        "--stall TIME", "give up if nothing arrives for this time (30s)", parse_duration, (0.5, 86_400)
    ),
}
OUTPUT: Options = {
    "interval_s": Option(
        "--interval TIME", "time between two samples of throughput and TCP_INFO (500ms)", parse_duration, (0.05, 3600)
    ),
    "route": {"--no-route": (False, "do not trace the route")},
    "iperf3_port": Option(
        "--iperf3 PORT",
        "measure with iperf3 as well, if its server runs there (5201); write --iperf3=PORT",
        _whole,
        (1, 65_535),
        {"nargs": "?", "const": "5201"},
    ),
}
_OPTIONS = {**TRANSFER, **CONNECTION, **FAR_END, **OUTPUT}
"""Options of all fields but `remote_file`, in the order of `--help`."""

NO_INFLUENCE = frozenset(
    {"iterations", "route", "iperf3_port", "interval_s", "stall_limit_s", "connect_limit_s", "remote_folder"}
)
"""Fields that do not change what an iteration measures."""


def add_options(parser: ArgumentParser, heading: str, options: Options) -> Any:
    """Adds options to a parser, which keeps their values, most as texts, by field name; returns `argparse`'s group."""
    group = parser.add_argument_group(heading)
    for name, option in options.items():
        if isinstance(option, Option):
            *flags, metavar = option.usage.split()
            group.add_argument(*flags, dest=name, metavar=metavar, help=option.help, **option.arguments)
        else:
            either = group.add_mutually_exclusive_group()
            for flag, (value, help_text) in option.items():
                either.add_argument(flag, dest=name, action="store_const", const=value, help=help_text)
    return group


def read_fields(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the values of fields from texts; see `TransferSpec.parse`."""
    known = TransferSpec.__dataclass_fields__
    if unknown := set(texts) - set(known):
        raise UsageError(f"unknown: {', '.join(sorted(unknown))}", f"known: {', '.join(sorted(known))}")
    return {name: _read(name, value, type(known[name].default)) for name, value in texts.items() if value is not None}


def _read(name: str, value: Any, kind: type) -> Any:
    option = _OPTIONS.get(name)
    if isinstance(value, str) and isinstance(option, Option):
        return option.read(value, option.flag)
    if not issubclass(kind, StrEnum):
        return value
    try:
        return kind(value.strip().lower())
    except ValueError:
        raise UsageError(f"{name}: {value!r} is unknown", f"choose one of {', '.join(kind)}") from None


def read_json(kind: type[_Record], text: str | bytes) -> _Record:
    """Returns the frozen dataclass that a JSON object describes, as strictly as its `__pydantic_config__` says.

    Raises:
        ValueError: a field is missing, unknown or of the wrong type; names the first such field.
    """
    from pydantic import TypeAdapter, ValidationError  # slow to load, and most commands read no JSON

    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        fields = [str(each) for each in problem["loc"] if not str(each)[:1].isupper()]  # others name members of a union
        where = ".".join(fields) or kind.__name__
        raise ValueError(f"{where}: {problem['msg']}") from error
