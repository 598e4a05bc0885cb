"""A connection to the far end: what a measurement needs of it, whatever is spoken on it."""

from abc import ABC, abstractmethod
from typing import Self

from probes.preflight.records import KernelSample, SocketFacts
from probes.preflight.sockets import Address
from probes.preflight.target import FarEnd


class Access:
    """Credentials of a connection: how it proves who it is, and what proves the far end."""


class Session(ABC):
    """A connection that has logged in. As a context manager, it is closed at the end of the block.

    Attributes:
        address: address that answered, to which all further connections go; None if only ssh(1) knows it.
        connect_s, key_exchange_s, authentication_s: see `records.Phases`.
        added_to: the file to which the far end's key was added; "" if it was known.
        notes: what a reader of the measurement must know of the connection.
    """

    target: FarEnd
    address: Address | None
    connect_s: float
    key_exchange_s: float
    authentication_s: float
    added_to: str = ""
    notes: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...

    def keep_alive(self, interval_s: int) -> None:  # noqa: B027 (one that is made anew when it is needed again)
        """Sends something whenever nothing was sent for this time, so that nobody on the way forgets the connection."""

    @abstractmethod
    def access_for_streams(self) -> Access:
        """Returns the access of further connections to the same machine, without prompts."""

    @abstractmethod
    def facts(self) -> SocketFacts: ...

    @abstractmethod
    def sample(self) -> KernelSample | None:
        """Returns TCP_INFO now; None if the connection is closed, or is not this process's to look into."""

    def rtts_s(self) -> tuple[float, float]:
        """Returns the kernel's smoothed round-trip time, and the shortest that it has seen.

        Raises:
            OSError: the connection is not there to be asked.
        """
        raise OSError

    @property
    @abstractmethod
    def is_active(self) -> bool: ...

    @property
    @abstractmethod
    def failure(self) -> Exception | None:
        """The error that ended the connection, if any."""

    @property
    def cipher_ns(self) -> int:
        """Processor time that this process spent decrypting, if that can be told from the rest."""
        return 0

    def helper_used_s(self) -> tuple[float, float]:
        """Returns the processor time of the process that speaks SSH, if it is not this one, and how long it queued."""
        return 0.0, 0.0

    @property
    def round_trip_s(self) -> float | None:
        """The round trip of a request, if the far end's answers are held to a fixed window in each."""
        return None
