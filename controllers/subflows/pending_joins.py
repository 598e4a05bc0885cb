"""Joins that are ahead of their connection's token: without it a second subflow would be a stranger's now and then.

The SYN/ACK that tells the token comes from the server's switch, the join from the client's: one may overtake the other
on its way to the controller.
"""

from collections.abc import Callable
from dataclasses import dataclass

from controllers.network.description import SwitchPort
from controllers.openflow.rules import Action
from controllers.packets.mptcp_options import MptcpOptions
from controllers.packets.segments import FlowKey, Segment

PATIENCE_S = 0.1
"""So long a join waits for its connection's token, before it counts as unknown."""

_MANY = 256

Release = Callable[[tuple[Action, ...] | None], None]
"""Sends a held SYN on: with these actions, or with None by forwarding's rules."""


@dataclass(frozen=True)
class HeldSyn:
    """A SYN that a switch holds.

    Args:
        segment: with `is_syn`.
        options: its MPTCP options.
        ingress: where it entered the network.
        release: to be called once.
        since_s: when it came.
    """

    segment: Segment
    options: MptcpOptions
    ingress: SwitchPort
    release: Release
    since_s: float

    @property
    def flow(self) -> FlowKey:
        """Its addresses and ports."""
        return self.segment.flow


class EarlyJoins:
    """The joins that wait.

    Args:
        is_known: whether the connection that a token names, sent on this flow, is known.
    """

    def __init__(self, is_known: Callable[[int | None, FlowKey], bool]) -> None:
        self._is_known = is_known
        self._waiting: dict[FlowKey, HeldSyn] = {}

    def keeps(self, syn: HeldSyn) -> bool:
        """Whether a SYN is such a join, and waits from now on."""
        if syn.options.join is None or self._is_known(syn.options.join.token, syn.flow):
            return False
        if len(self._waiting) >= _MANY or syn.flow in self._waiting:
            return False
        self._waiting[syn.flow] = syn
        return True

    def due(self, now_s: float) -> list[HeldSyn]:
        """Those whose connection is known by now, or that have waited long enough; they wait no more."""
        due = [
            it
            for it in self._waiting.values()
            if it.since_s + PATIENCE_S <= now_s or self._is_known(it.options.join.token, it.flow)
        ]
        for it in due:
            del self._waiting[it.flow]
        return due
