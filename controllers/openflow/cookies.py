"""What a flow rule says of its connection: without it a restarted controller would find rules, but no connections.

0x666d | direction, backup, joined, protocol | token        the rule of a flow, where it enters
0x666d | path                                | path number  a rule of a path
0x666d | group, hold                         | 0            see `Kind`
"""

from dataclasses import dataclass
from enum import IntEnum

from controllers.openflow.rules import COOKIE_PREFIX

SIBLING_BIT = 1 << 48
"""In this bit steering's cookies differ from those of forwarding, and in no other of their upper 16."""

PREFIX = COOKIE_PREFIX & (0xFFFF << 48) ^ SIBLING_BIT
PREFIX_MASK = 0xFFFF << 48

_KIND_SHIFT = 44
_BACKUP, _JOINED, _MPTCP, _HAS_TOKEN = (1 << bit for bit in (32, 33, 34, 35))


class Kind(IntEnum):
    """What a rule is for."""

    FORTH = 1  # a flow, in the direction of its SYN
    BACK = 2  # the other direction of a flow
    PATH = 3  # all flows on a path
    GROUP = 4  # flows for which the switch chooses the path
    HOLD = 5  # SYNs that are held for the controller

    @classmethod
    def of(cls, cookie: int) -> "Kind | None":
        """What a rule with this cookie is for; None if it is not one of steering."""
        number = cookie >> _KIND_SHIFT & 0xF
        return cls(number) if cookie & PREFIX_MASK == PREFIX and number in set(cls) else None

    @property
    def cookie(self) -> int:
        """The cookie of a rule that says no more than this."""
        return PREFIX | self << _KIND_SHIFT


@dataclass(frozen=True)
class FlowCookie:
    """The cookie of a flow's rule.

    Args:
        kind: FORTH or BACK.
        token: the connection's, or None.
        backup, joined, mptcp: as in `controllers.subflows.connections.Subflow` and `Connection.protocol`.
    """

    kind: Kind
    token: int | None = None
    backup: bool = False
    joined: bool = False
    mptcp: bool = False

    def __int__(self) -> int:
        flags = [(self.backup, _BACKUP), (self.joined, _JOINED), (self.mptcp, _MPTCP)]
        number = self.kind.cookie | sum(bit for is_set, bit in flags if is_set)
        return number if self.token is None else number | _HAS_TOKEN | self.token

    @classmethod
    def read(cls, cookie: int) -> "FlowCookie | None":
        """From a rule's cookie; None if it is not a flow's."""
        kind = Kind.of(cookie)
        if kind not in (Kind.FORTH, Kind.BACK):
            return None
        token = cookie & 0xFFFFFFFF if cookie & _HAS_TOKEN else None
        return cls(kind, token, bool(cookie & _BACKUP), bool(cookie & _JOINED), bool(cookie & _MPTCP))


def path_cookie(path: int) -> int:
    """The cookie of a path's rules, by its number."""
    return Kind.PATH.cookie | path


def read_path_cookie(cookie: int) -> int | None:
    """The path's number from a rule's cookie; None if it is no path's."""
    return cookie & 0xFFFF if Kind.of(cookie) is Kind.PATH else None
