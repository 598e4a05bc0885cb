"""Addresses merged into blocks, so that a switch needs one rule for many hosts that lie in the same direction.

A block has no other addresses than those that it is made of: a frame to an unknown address matches none.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controllers.network.description import Host, Interface

_MAC_BITS = 48

Block = str | tuple[str, str]
"""One address, or value and mask of several."""

Group = tuple[str, int]
"""The interfaces at a switch that are the first (0), second, … of their hosts: all switches forward to them alike."""


@dataclass(frozen=True)
class AddressBlocks:
    """The addresses of interfaces: each of them is in one block."""

    macs: tuple[Block, ...]
    ipv4: tuple[Block, ...]
    ipv6: tuple[Block, ...]

    @classmethod
    def of(cls, interfaces: Iterable["Interface"]) -> "AddressBlocks":
        macs: list[int] = []
        addresses: dict[int, list[int]] = {4: [], 6: []}
        for interface in interfaces:
            macs.append(int(interface.mac.replace(":", ""), 16))
            for text in interface.addresses:
                address = ip_address(text)
                addresses[address.version].append(int(address))
        return cls(
            _merged(macs, _MAC_BITS, lambda number: number.to_bytes(_MAC_BITS // 8, "big").hex(":")),
            _merged(addresses[4], 32, lambda number: str(IPv4Address(number))),
            _merged(addresses[6], 128, lambda number: str(IPv6Address(number))),
        )


class InterfaceGroups:
    """The interfaces of a network in groups, and the address blocks of sets of groups, which many switches share."""

    def __init__(self, hosts: Iterable["Host"]) -> None:
        self.members: dict[Group, list[Interface]] = {}
        for host in hosts:
            for number, interface in enumerate(host.interfaces):
                self.members.setdefault((interface.switch, number), []).append(interface)
        self._blocks: dict[frozenset[Group], AddressBlocks] = {}

    def blocks(self, groups: Collection[Group]) -> AddressBlocks:
        key = frozenset(groups)
        if key not in self._blocks:
            self._blocks[key] = AddressBlocks.of(it for group in groups for it in self.members[group])
        return self._blocks[key]


def _merged(numbers: Iterable[int], bits: int, text_of: Callable[[int], str]) -> tuple[Block, ...]:
    """Merges numbers that differ only in their lowest bits, which take all values, into blocks; in order."""
    blocks = sorted(_pairs(set(numbers), bits))
    every = (1 << bits) - 1
    return tuple(
        text_of(first) if size == 1 else (text_of(first), text_of(every ^ (size - 1))) for first, size in blocks
    )


def _pairs(firsts: set[int], bits: int) -> Iterator[tuple[int, int]]:
    """Yields the first number and the size of each block, by joining pairs of blocks of one size again and again."""
    for bit in range(bits + 1):
        size = 1 << bit
        joined = {first for first in firsts if not first & size and first | size in firsts}
        yield from ((first, size) for first in firsts if first & ~size not in joined)
        firsts = joined
        if not firsts:
            return
