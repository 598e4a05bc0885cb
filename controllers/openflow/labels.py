"""Labels in the place of MAC addresses: without them every switch on a path would need a rule for every flow.

The edge switch where a flow enters writes a label over the frame's destination MAC address; the switches behind it look
at nothing but the label, and the edge switch where it leaves writes the address back (the shadow MACs of Agarwal, Dixon
and Carter, *Shadow MACs: Scalable Label-switching for Commodity Ethernet*, HotSDN 2014). A label takes no bytes, so
neither the MTU nor super-frames are touched, and both datapaths of Open vSwitch rewrite an address.

    PP:PP  NN:NN  II:II      P: says that it is a label; a locally administered unicast address
                             N: number of the path, from one edge switch to another
                             I: number of the interface that it ends at

Rules on a path match the path's part only, the rule at its end the interface's only: one per path and switch, one per
interface, however many flows there are.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from controllers.network.description import Network
from controllers.network.paths import Path
from flightpath.errors import FlightpathError

LARGEST_NUMBER = 0xFFFF
PATH_MASK = "ff:ff:ff:ff:00:00"
INTERFACE_MASK = "ff:ff:00:00:ff:ff"
ANY_MASK = "ff:ff:00:00:00:00"

_PREFIXES = tuple(0x7E50 + i for i in range(0x10))


@dataclass(frozen=True)
class Labels:
    """The labels of one network.

    Args:
        prefix: the first two octets; see `for_hosts`.
    """

    prefix: int = _PREFIXES[0]

    @classmethod
    def for_hosts(cls, macs: Iterable[str]) -> "Labels":
        """Labels that are no host's address; for the same hosts always the same ones.

        Raises:
            FlightpathError: hosts have addresses of all kinds that labels could be.
        """
        taken = {int(mac[:2] + mac[3:5], 16) for mac in macs}
        free = [prefix for prefix in _PREFIXES if prefix not in taken]
        if not free:
            raise FlightpathError("no MAC addresses are left for labels", "give hosts addresses that do not begin 7e:5")
        return cls(free[0])

    def label(self, path: int, interface: int) -> str:
        """The label of a frame on a path to an interface, both by their numbers."""
        octets = (self.prefix << 32 | path << 16 | interface).to_bytes(6, "big")
        return octets.hex(":")

    def on_path(self, path: int) -> tuple[str, str]:
        """Value and mask of all labels of a path."""
        return self.label(path, 0), PATH_MASK

    def to_interface(self, interface: int) -> tuple[str, str]:
        """Value and mask of all labels that end at an interface."""
        return self.label(0, interface), INTERFACE_MASK

    @property
    def any(self) -> tuple[str, str]:
        """Value and mask of all labels."""
        return self.label(0, 0), ANY_MASK

    def is_label(self, mac: str) -> bool:
        """Whether an address is a label."""
        return int(mac[:2] + mac[3:5], 16) == self.prefix

    def read(self, label: str) -> tuple[int, int] | None:
        """The numbers of path and interface in a label; None if it is none."""
        if not self.is_label(label):
            return None
        octets = bytes.fromhex(label.replace(":", ""))
        return int.from_bytes(octets[2:4], "big"), int.from_bytes(octets[4:6], "big")


class Interfaces:
    """Numbers for interfaces by their MAC addresses; a number once given stays.

    Args:
        known: numbers given before this process began.
    """

    def __init__(self, network: Network | None = None) -> None:
        self._numbers: dict[str, int] = {}
        for interface in network.interfaces if network else ():
            self.number(interface.mac)

    def number(self, mac: str) -> int:
        """The interface's number, from 1 on."""
        if mac not in self._numbers:
            self._numbers[mac] = max(self._numbers.values(), default=0) + 1
        return self._numbers[mac]

    def restore(self, mac: str, number: int) -> bool:
        """Takes up a number that the interface had before; False if another one has it now."""
        if self._numbers.get(mac, number) != number or number in set(self._numbers.values()) - {self._numbers.get(mac)}:
            return False
        self._numbers[mac] = number
        return True


class Paths:
    """Numbers for paths, of which there are at most `LARGEST_NUMBER` at a time."""

    def __init__(self) -> None:
        self._numbers: dict[Path, int] = {}
        self._paths: dict[int, Path] = {}
        self._last = 0

    def number(self, path: Path) -> int:
        """The path's number, from 1 on; a new one if it has none.

        Raises:
            FlightpathError: all numbers are in use; see `forget`.
        """
        found = self._numbers.get(path)
        return found if found is not None else self._add(path)

    def path(self, number: int) -> Path | None:
        """The path with this number."""
        return self._paths.get(number)

    def restore(self, path: Path, number: int) -> bool:
        """Takes up a number that the path had before; False if number or path have another partner now."""
        if self._numbers.get(path, number) != number or self._paths.get(number, path) != path:
            return False
        self._numbers[path], self._paths[number] = number, path
        return True

    def forget_all_but(self, numbers: Iterable[int]) -> list[int]:
        """Frees the numbers of all other paths and returns them; the rules of these paths must go first."""
        kept = set(numbers)
        freed = [number for number in self._paths if number not in kept]
        for number in freed:
            del self._numbers[self._paths.pop(number)]
        return freed

    def __len__(self) -> int:
        return len(self._paths)

    def _add(self, path: Path) -> int:
        if len(self._paths) >= LARGEST_NUMBER:
            raise FlightpathError(f"all {LARGEST_NUMBER} labels for paths are in use")
        while True:
            self._last = self._last % LARGEST_NUMBER + 1
            if self._last not in self._paths:
                self._numbers[path], self._paths[self._last] = self._last, path
                return self._last
