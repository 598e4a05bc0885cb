"""Joins that arrive before their connection's token is known.

The SYN/ACK that reveals the token comes from the server's switch, the join from the client's switch: on their way to
the controller either may overtake the other.
"""

from collections.abc import Callable
from dataclasses import dataclass

from controllers.network.description import SwitchPort
from controllers.openflow.rules import Action
from controllers.packets.mptcp_options import MptcpOptions
from controllers.packets.segments import FlowKey, Segment

TOKEN_TIMEOUT_S = 0.1
"""How long a join waits for its connection's token before the token counts as unknown."""

_MAX_PENDING = 256

Release = Callable[[tuple[Action, ...] | None], None]
"""Sends on a SYN that a switch holds: with these actions, or by forwarding's rules (None)."""


@dataclass(frozen=True)
class HeldSyn:
    """A SYN that a switch holds."""

    segment: Segment
    options: MptcpOptions
    ingress: SwitchPort
    release: Release
    since_s: float

    @property
    def flow(self) -> FlowKey:
        """Its addresses and ports."""
        return self.segment.flow


class PendingJoins:
    """The joins that wait for a token."""

    def __init__(self, is_known: Callable[[FlowKey, int | None], bool]) -> None:
        self._is_known = is_known
        self._joins: dict[FlowKey, HeldSyn] = {}

    def add(self, syn: HeldSyn) -> bool:
        """Keeps a SYN if it is a join that must wait; returns whether it is."""
        if syn.options.join is None or self._is_known(syn.flow, syn.options.join.token):
            return False
        if len(self._joins) >= _MAX_PENDING or syn.flow in self._joins:
            return False
        self._joins[syn.flow] = syn
        return True

    def pop_ready(self, now_s: float) -> list[HeldSyn]:
        """Removes and returns the joins whose connection is known by now, or that have waited long enough."""
        ready = [
            it
            for it in self._joins.values()
            if it.since_s + TOKEN_TIMEOUT_S <= now_s or self._is_known(it.flow, it.options.join.token)
        ]
        for it in ready:
            del self._joins[it.flow]
        return ready
