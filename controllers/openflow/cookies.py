"""Cookies of steering's rules: they carry what a restarted controller needs to recover its connections.

0x666d | direction, backup, joined, protocol | token        a rule of a flow, at the switch where it enters
0x666d | path                                | path number  a rule of a path
0x666d | group, hold                         | 0            see `RuleKind`
"""

from dataclasses import dataclass
from enum import IntEnum

from controllers.openflow.rules import COOKIE_PREFIX

SIBLING_BIT = 1 << 48
"""The only one of the upper 16 bits in which cookies of steering differ from those of forwarding."""

PREFIX = COOKIE_PREFIX & (0xFFFF << 48) ^ SIBLING_BIT
PREFIX_MASK = 0xFFFF << 48

_KIND_SHIFT = 44
_BACKUP, _JOINED, _MPTCP, _HAS_TOKEN = (1 << bit for bit in (32, 33, 34, 35))


class RuleKind(IntEnum):
    """The purpose of a rule of steering."""

    FORWARD = 1  # a flow, in the direction of its SYN
    REVERSE = 2  # a flow, in the other direction
    PATH = 3  # all flows on a path
    GROUP = 4  # flows for which the switch chooses the path
    HOLD = 5  # SYNs that are held for the controller

    @classmethod
    def of(cls, cookie: int) -> "RuleKind | None":
        """Returns the purpose of a rule with this cookie; None if it is not a rule of steering."""
        number = cookie >> _KIND_SHIFT & 0xF
        return cls(number) if cookie & PREFIX_MASK == PREFIX and number in set(cls) else None

    @property
    def cookie(self) -> int:
        """The cookie that carries only this kind."""
        return PREFIX | self << _KIND_SHIFT


@dataclass(frozen=True)
class FlowCookie:
    """The cookie of a flow's rule; `backup` and `joined` are as in `controllers.subflows.connection_records`."""

    kind: RuleKind
    token: int | None = None
    backup: bool = False
    joined: bool = False
    mptcp: bool = False

    def __int__(self) -> int:
        flags = [(self.backup, _BACKUP), (self.joined, _JOINED), (self.mptcp, _MPTCP)]
        number = self.kind.cookie | sum(bit for is_set, bit in flags if is_set)
        return number if self.token is None else number | _HAS_TOKEN | self.token

    @classmethod
    def decode(cls, cookie: int) -> "FlowCookie | None":
        """Returns the content of a rule's cookie; None if the rule is not a flow's."""
        kind = RuleKind.of(cookie)
        if kind not in (RuleKind.FORWARD, RuleKind.REVERSE):
            return None
        token = cookie & 0xFFFFFFFF if cookie & _HAS_TOKEN else None
        return cls(kind, token, bool(cookie & _BACKUP), bool(cookie & _JOINED), bool(cookie & _MPTCP))


def path_cookie(number: int) -> int:
    """Returns the cookie of the rules of the path with this number."""
    return RuleKind.PATH.cookie | number


def path_number(cookie: int) -> int | None:
    """Returns the path's number from a rule's cookie; None if the rule is not a path's."""
    return cookie & 0xFFFF if RuleKind.of(cookie) is RuleKind.PATH else None
