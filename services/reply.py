"""A TCP server that answers requests with bytes, and the pattern in which a client makes requests."""

from dataclasses import dataclass

from flightpath.errors import UsageError
from flightpath.launcher import python_module
from flightpath.overrides import override
from services.running.daemon import DaemonService


@dataclass(frozen=True)
class RequestPattern:
    """Requests of one client.

    Attributes:
        size_bytes: size of each answer.
        interval_s: time between requests, whether answers have come or not; 0: each waits for the answer before.
    """

    count: int
    size_bytes: int
    interval_s: float = 0.0

    def __post_init__(self) -> None:
        for name in ("count", "size_bytes"):
            if (value := getattr(self, name)) < 1:
                raise UsageError(f"{name}: {value} is less than 1")
        if self.interval_s < 0:
            raise UsageError(f"interval_s: {self.interval_s:g} is less than 0")

    @property
    def total_bytes(self) -> int:
        """Size of all answers."""
        return self.count * self.size_bytes


class ReplyServer(DaemonService):
    """Answers each request with as many bytes as it asks for, in the order of the requests."""

    daemon_name, log_name, usual_port = "the reply server", "reply-{host}-{port}.log", 5302

    @override
    def _argv(self) -> list[str]:
        return python_module("services.reply_server", str(self.port), str(int(self._mptcp)))
