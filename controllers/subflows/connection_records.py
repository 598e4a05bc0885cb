"""Records of connections and subflows as plain data: without it who shows them would hold the table's own state."""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum

from controllers.packets.segments import FlowKey


class State(StrEnum):
    """How far a subflow's handshake is, as far as we see it."""

    PENDING = "pending"  # SYN seen
    ESTABLISHED = "established"  # SYN/ACK seen


@dataclass(frozen=True)
class Subflow:
    """One TCP flow. A record of the moment: the table replaces it when something changes.

    Args:
        connection: id of the connection it belongs to.
        flow: in the direction of its SYN.
        ingress: where its SYN entered, whatever the caller uses for a port.
        state: see `State`.
        path: number that the caller has given to its path with `place`; None before.
        backup: whether it was opened as a spare (the B bit of MP_JOIN).
        joined: whether it came by MP_JOIN.
        seen_s: when its SYN was last seen.
        sequence: of its SYN, which tells a retransmission from a new flow; None after a restart of the controller.
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


@dataclass(frozen=True)
class Connection:
    """A connection with its present subflows. A record of the moment.

    Args:
        id: positive, not given again while it lives.
        protocol: `tcp` or `mptcp`. While pending, what its SYN asked for; then, what the SYN/ACK granted.
        token: by which others join; None while unknown, and for `tcp`.
        subflows: in the order of their SYNs; at least one.
        opened_s: when its first SYN was seen (or when it was restored).
    """

    id: int
    protocol: str
    token: int | None
    subflows: tuple[Subflow, ...]
    opened_s: float


class Verdict(StrEnum):
    """What a SYN turned out to be."""

    OPENED = "opened"  # a new connection (or a new one on the addresses and ports of an old one, which is in `removed`)
    JOINED = "joined"  # a new subflow of a known connection
    REPEATED = "repeated"  # a retransmission: the flow is known, and has its path if it was placed
    UNKNOWN_TOKEN = "unknown token"  # not kept: it gets the default path
    REFUSED = "refused"  # not kept, for there is no room or the flow is another port's: it gets the default path


@dataclass(frozen=True)
class Admission:
    """The answer to a SYN.

    Args:
        verdict: see `Verdict`.
        subflow: the flow as the table has it now; None if it is not kept.
        removed: flows that the table gave up for it; their rules may go.
    """

    verdict: Verdict
    subflow: Subflow | None = None
    removed: tuple[Subflow, ...] = ()


@dataclass
class Counters:
    """What happened since the start; they only grow.

    Attributes:
        opened: connections whose SYN was taken.
        mptcp: connections that a SYN/ACK made MPTCP.
        fallbacks: connections whose SYN asked for MPTCP and whose SYN/ACK did not grant it.
        version_0: SYNs of MPTCP version 0.
        joins: subflows that joined a known connection.
        unknown_tokens: SYNs that wanted to join an unknown one.
        malformed: segments with malformed options.
        evicted: pending flows given up for others.
        expired: pending flows that nobody answered in time.
        refused: SYNs for which there was no room, or on a flow of another ingress port.
        rate_limited: SYNs that `SynGuard` turned away.
    """

    opened: int = 0
    mptcp: int = 0
    fallbacks: int = 0
    version_0: int = 0
    joins: int = 0
    unknown_tokens: int = 0
    malformed: int = 0
    evicted: int = 0
    expired: int = 0
    refused: int = 0
    rate_limited: int = 0
