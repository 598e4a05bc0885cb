"""Records of connections and subflows as plain data, and counters of what happened to them."""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum

from controllers.packets.segments import FlowKey


class State(StrEnum):
    """The progress of a subflow's handshake."""

    PENDING = "pending"  # SYN seen
    ESTABLISHED = "established"  # SYN/ACK seen


@dataclass(frozen=True)
class Subflow:
    """One TCP flow at one moment: the table replaces the record when something changes.

    Args:
        flow: in the direction of its SYN.
        ingress: the port where its SYN entered, as the caller names ports.
        path: the number that the caller has given to its path; None before.
        backup: whether it was opened as a backup (the B bit of MP_JOIN).
        seen_s: when its SYN was last seen.
        sequence: of its SYN, the same in a retransmission; None after a restart of the controller.
    """

    connection: int
    flow: FlowKey
    ingress: Hashable
    state: State
    path: int | None
    backup: bool
    joined: bool
    seen_s: float
    sequence: int | None = None

    @property
    def identity(self) -> tuple[FlowKey, int, int | None]:
        """The fields that all records of this flow share, and no other flow has."""
        return self.flow, self.connection, self.sequence


@dataclass(frozen=True)
class Connection:
    """A connection and its subflows at one moment.

    Args:
        id: positive; not used again while the connection lives.
        protocol: `tcp` or `mptcp`: what its SYN requested, and after the handshake what the SYN/ACK granted. A server
            that falls back to TCP later, because it missed the handshake's third segment, is still shown as `mptcp`.
        token: by which further subflows join; None while unknown, and for `tcp`.
        subflows: in the order of their SYNs; at least one.
        opened_s: when its first SYN was seen (or when it was restored).
    """

    id: int
    protocol: str
    token: int | None
    subflows: tuple[Subflow, ...]
    opened_s: float


class SynKind(StrEnum):
    """The meaning of a SYN for the table of connections."""

    OPENED = "opened"  # a new connection; an old one with the same addresses and ports is in `Admission.removed`
    JOINED = "joined"  # a new subflow of a known connection
    REPEATED = "repeated"  # a retransmission: the flow is known, and has its path if it has been given one
    UNKNOWN_TOKEN = "unknown token"  # not kept: it takes the default path
    REFUSED = "refused"  # not kept, because the table is full or the flow belongs to another port


@dataclass(frozen=True)
class Admission:
    """The answer of the table of connections to a SYN.

    Args:
        subflow: None if it is not kept.
        removed: flows that the table has removed for it; their rules can be deleted.
    """

    kind: SynKind
    subflow: Subflow | None = None
    removed: tuple[Subflow, ...] = ()


@dataclass
class Counters:
    """Numbers of events since the start."""

    opened: int = 0  # connections opened by a SYN
    mptcp: int = 0  # connections that a SYN/ACK made MPTCP
    fallbacks: int = 0  # connections whose SYN requested MPTCP and whose SYN/ACK did not grant it
    version_0: int = 0  # SYNs of MPTCP version 0
    joins: int = 0  # subflows that joined a known connection
    unknown_tokens: int = 0  # SYNs with the token of no known connection
    malformed: int = 0  # segments with malformed options
    evicted: int = 0  # pending flows removed to make room for others
    expired: int = 0  # pending flows that were not answered in time
    refused: int = 0  # SYNs for which there was no room, or of a flow that belongs to another ingress port
    rate_limited: int = 0  # frames that a `FloodGuard` rejected
