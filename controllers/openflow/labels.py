"""Labels: destination MAC addresses that name a path, so that inner switches need one rule per path, not per flow.

The edge switch where a flow enters overwrites the frame's destination MAC address with a label. The switches behind it
look only at the label, and the edge switch where the flow leaves restores the address (the shadow MACs of Agarwal,
Dixon and Carter, *Shadow MACs: Scalable Label-switching for Commodity Ethernet*, HotSDN 2014). A label takes no extra
bytes, so the MTU and GSO packets stay as they are, and both datapaths of Open vSwitch can rewrite an address.

    PP:PP  NN:NN  II:II      P: marks a label; a locally administered unicast address
                             N: number of the path, from one edge switch to another
                             I: number of the interface at the end of the path

Rules on a path match only the path's part of the label, and the rule at its end only the interface's part.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from controllers.network.description import Network
from flightpath.errors import FlightpathError

Key = TypeVar("Key")

LARGEST_NUMBER = 0xFFFF
PATH_MASK = "ff:ff:ff:ff:00:00"
INTERFACE_MASK = "ff:ff:00:00:ff:ff"
ANY_MASK = "ff:ff:00:00:00:00"

_PREFIXES = tuple(0x7E50 + i for i in range(0x10))


@dataclass(frozen=True)
class Labels:
    """The labels of one network, with the first two octets that they share; see `for_hosts`."""

    prefix: int = _PREFIXES[0]

    @classmethod
    def for_hosts(cls, macs: Iterable[str]) -> "Labels":
        """Labels that are not the address of any of these hosts; the same hosts always get the same labels."""
        used = {_prefix_of(mac) for mac in macs}
        free = [prefix for prefix in _PREFIXES if prefix not in used]
        if not free:
            raise FlightpathError("no MAC addresses are left for labels", "give hosts addresses that do not begin 7e:5")
        return cls(free[0])

    def label(self, path: int, interface: int) -> str:
        """Returns the label of a frame on a path to an interface, both given by their numbers."""
        return (self.prefix << 32 | path << 16 | interface).to_bytes(6, "big").hex(":")

    def on_path(self, path: int) -> tuple[str, str]:
        """Returns value and mask that match all labels of a path."""
        return self.label(path, 0), PATH_MASK

    def to_interface(self, interface: int) -> tuple[str, str]:
        """Returns value and mask that match all labels of paths to an interface."""
        return self.label(0, interface), INTERFACE_MASK

    @property
    def any(self) -> tuple[str, str]:
        return self.label(0, 0), ANY_MASK

    def is_label(self, mac: str) -> bool:
        return _prefix_of(mac) == self.prefix

    def decode(self, mac: str) -> tuple[int, int] | None:
        """Returns the numbers of path and interface in a label; None if the address is not a label."""
        if not self.is_label(mac):
            return None
        octets = bytes.fromhex(mac.replace(":", ""))
        return int.from_bytes(octets[2:4], "big"), int.from_bytes(octets[4:6], "big")


class Numbers(Generic[Key]):
    """Gives each key a number from 1 on, which it keeps: at most `LARGEST_NUMBER` at a time."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._numbers: dict[Key, int] = {}
        self._keys: dict[int, Key] = {}
        self._last = 0
        for key in keys:
            self.number(key)

    def number(self, key: Key) -> int:
        """Returns the key's number; a new one if it has none yet."""
        if key not in self._numbers:
            if len(self) >= LARGEST_NUMBER:
                raise FlightpathError(f"all {LARGEST_NUMBER} numbers in labels are in use")
            self._last = self._last % LARGEST_NUMBER + 1
            while self._last in self._keys:
                self._last = self._last % LARGEST_NUMBER + 1
            self.restore(key, self._last)
        return self._numbers[key]

    def key(self, number: int) -> Key | None:
        return self._keys.get(number)

    def restore(self, key: Key, number: int) -> bool:
        """Gives the key the number that it had before; False if either of them has another partner by now."""
        if self._numbers.get(key, number) != number or self._keys.get(number, key) != key:
            return False
        self._numbers[key], self._keys[number] = number, key
        return True

    def forget_all_but(self, numbers: Iterable[int]) -> list[int]:
        """Frees all other numbers and returns them."""
        kept = set(numbers)
        freed = [number for number in self._keys if number not in kept]
        for number in freed:
            del self._numbers[self._keys.pop(number)]
        return freed

    def __len__(self) -> int:
        return len(self._keys)


InterfaceNumbers = Numbers[str]
"""The numbers of interfaces, by their MAC addresses."""


def interface_numbers(network: Network) -> InterfaceNumbers:
    return Numbers(interface.mac for interface in network.interfaces)


def _prefix_of(mac: str) -> int:
    return int(mac[:2] + mac[3:5], 16)
