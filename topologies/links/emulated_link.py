"""What every link emulator can do: without one interface a topology would have to know which kernel it runs on."""

import dataclasses
import zlib
from abc import abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Literal, Self

from mininet.link import Link
from mininet.node import Node

from flightpath.errors import FlightpathError, UsageError
from topologies.links.emulated_interface import EmulatedInterface
from topologies.links.spec import LinkSpec

Direction = Literal["a_to_b", "b_to_a"]
DIRECTIONS: tuple[Direction, ...] = ("a_to_b", "b_to_a")


@dataclasses.dataclass(frozen=True)
class LinkEnd:
    """An interface that a link is to have.

    Attributes:
        name: of the interface.
        mac: its address; None is the kernel's choice.
        node: where it is to be; None is where this process is.
    """

    name: str
    mac: str | None = None
    node: Node | None = None

    @property
    def namespace_pid(self) -> int | None:
        """A process in whose network namespace it is to be made; None is this one's."""
        return self.node.pid if self.node is not None and self.node.inNamespace else None


class EmulatedLink(Link):
    """A Mininet link that is what its specifications say, and can be changed while packets are in it.

    Args:
        spec: both directions; or `a_to_b` and `b_to_a` each its own, seen from node1 (a) to node2 (b).
        seed: of everything random, so that a run can be repeated. By default that of its interfaces' names: links of
            one specification must not lose the same packets, by their number, at the same time.
        wait: return when the link is there and its interfaces are up. A network of many does not, and calls
            `complete` for all of them: each takes its time beside the others.
    """

    emulator: str

    def __init__(
        self,
        node1: Node,
        node2: Node,
        *,
        spec: LinkSpec | None = None,
        a_to_b: LinkSpec | None = None,
        b_to_a: LinkSpec | None = None,
        seed: int | None = None,
        wait: bool = True,
        **params: Any,
    ) -> None:
        self.a_to_b = a_to_b or spec or LinkSpec()
        self.b_to_a = b_to_a or spec or LinkSpec()
        if self.a_to_b.mtu_bytes != self.b_to_a.mtu_bytes:
            raise FlightpathError("a link has one MTU for both directions")
        self.seed = seed
        super().__init__(node1, node2, **{**params, "intf": EmulatedInterface})
        if wait:
            complete([self])

    def makeIntfPair(  # noqa: N802 - Mininet's hook
        self,
        intfname1: str,
        intfname2: str,
        addr1: str | None = None,
        addr2: str | None = None,
        node1: Node | None = None,
        node2: Node | None = None,
        deleteIntfs: bool = True,  # noqa: N803
    ) -> None:
        """Mininet's hook."""
        if self.seed is None:
            self.seed = zlib.crc32(f"{intfname1}:{intfname2}".encode())
        self.begin(LinkEnd(intfname1, addr1, node1), LinkEnd(intfname2, addr2, node2))

    @abstractmethod
    def begin(self, a: LinkEnd, b: LinkEnd) -> None:
        """Begins to make the link, or only plans it: `make_all` does the rest."""

    @classmethod
    @abstractmethod
    def make_all(cls, links: Sequence[Self]) -> None:
        """Makes what the constructors of these links have only begun, or planned."""

    @property
    def name(self) -> str:
        """The two interfaces that it joins, for example `h1-eth0:s1-eth1`."""
        return f"{self.intf1}:{self.intf2}"

    def change(self, *directions: Direction, at_ns: int | None = None, **fields: Any) -> None:
        """Changes fields of LinkSpec while the link carries packets; none that is inside is lost by it.

        Args:
            directions: which; none named means both.
            at_ns: when, on CLOCK_MONOTONIC (`time.monotonic_ns()`); None is now.
            fields: as `dataclasses.replace` takes them, for example `bandwidth_bps=10_000_000`. A bandwidth ends a
                trace and the other way round.

        Raises:
            UsageError: the fields make no specification; nothing has changed then.
        """
        if "mtu_bytes" in fields:
            raise UsageError("mtu: it cannot change while the link is up")
        if fields.get("bandwidth_bps") is not None:
            fields.setdefault("trace", None)
        elif fields.get("trace") is not None:
            fields["bandwidth_bps"] = None
        changed = {way: dataclasses.replace(getattr(self, way), **fields) for way in directions or DIRECTIONS}
        for way, spec in changed.items():
            self.apply(way, spec, at_ns)
            setattr(self, way, spec)

    @abstractmethod
    def apply(self, direction: Direction, spec: LinkSpec, at_ns: int | None = None) -> None:
        """Puts a specification in force for one direction; see `change`."""

    @abstractmethod
    def set_carrier(self, up: bool, at_ns: int | None = None) -> None:
        """Cuts the cable or mends it: both ends see it, and what was inside when it was cut is lost."""

    @abstractmethod
    def set_black_hole(self, on: bool, *directions: Direction, at_ns: int | None = None) -> None:
        """Lets every packet that enters from now on vanish, while both interfaces stay up."""

    @abstractmethod
    def stats(self) -> dict[str, Any]:
        """What it counted: `{"directions": {"a_to_b": {...}, "b_to_a": {...}}}`.

        Of each direction at least `in_packets`, `in_bytes`, `out_packets`, `out_bytes`, `queued_packets`,
        `queued_bytes`, `duplicated_packets`, `ecn_marked`, `queue_peak_bytes` (None where the emulator cannot tell),
        `drops` (packets by cause: `queue`, `aqm`, `loss`, `blackhole`, `down`, `malformed`, `device`), `lateness_ns`
        (`p50`, `p99`, `max`, `histogram`; None where the emulator cannot tell), and `spec` as in force, with
        `max_frame_bytes` (0: single segments only). Packets are wire segments, also inside super-frames. At rest
        in + duplicated = out + drops + queued.

        Raises:
            MeasurementFailed: the emulator has ended.
        """

    @abstractmethod
    def reset(self) -> None:
        """Forgets lateness and queue peaks so far, so that they tell of what follows; the counters go on."""

    @abstractmethod
    def check(self) -> None:
        """Raises MeasurementFailed if the emulator has ended: what was measured over it since then is worth nothing."""

    def end_soon(self) -> None:
        """Asks the emulator to end without waiting for it: of many links, each takes its time beside the others.

        `stop` must follow.
        """


def complete(links: Sequence[EmulatedLink]) -> None:
    """Returns when links are there that did not wait for it, and their interfaces are up.

    Raises:
        MissingCapability: an emulator lacks something here.
        FlightpathError: a link could not be made.
    """
    for kind, of_kind in groupby(sorted(links, key=lambda link: type(link).__qualname__), key=type):
        kind.make_all(list(of_kind))
    for link in links:
        link.intf1.complete()
        link.intf2.complete()
