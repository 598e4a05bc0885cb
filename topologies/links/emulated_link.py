"""Base class of all link emulators: a Mininet link that follows its specification and can be changed."""

import dataclasses
import zlib
from abc import abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Self

from mininet.link import Intf, Link
from mininet.node import Node

from flightpath.errors import FlightpathError
from flightpath.overrides import override
from topologies.links.changes import ChangeableLink
from topologies.links.spec import LinkSpec
from topologies.sandbox import kernel_settings

DROP_CAUSES = ("queue", "aqm", "loss", "blackhole", "down", "malformed", "device")
"""Why a link drops packets, in its statistics (explained in native/relay/frames/stats.h)."""


@dataclasses.dataclass(frozen=True)
class LinkEnd:
    """An interface that a link is to have.

    Attributes:
        mac: None leaves the choice to the kernel.
        node: where the interface is to be; None is where this process is.
    """

    name: str
    mac: str | None = None
    node: Node | None = None

    @property
    def namespace_pid(self) -> int | None:
        """A process in whose network namespace the interface is made; None is this process's."""
        return self.node.pid if self.node is not None and self.node.inNamespace else None

    def veth(self, mtu_bytes: int) -> str:
        """The words of ip(8) that make it as one of two joined interfaces."""
        address = f" address {self.mac}" if self.mac else ""
        namespace = f" netns {self.namespace_pid}" if self.namespace_pid is not None else ""
        return f"{self.name} mtu {mtu_bytes}{address}{namespace}"


def veth_pair(a: LinkEnd, b: LinkEnd, mtu_bytes: int) -> str:
    """A line for `ip -batch` that makes two joined interfaces, each where its node is."""
    return f"link add {a.veth(mtu_bytes)} type veth peer name {b.veth(mtu_bytes)}"


class EmulatedInterface(Intf):
    """An interface that is configured when its link is complete; Mininet's own starts a program before that exists."""

    @override
    def config(self, **params: Any) -> dict[str, Any]:
        self._params = params
        return {}

    def complete(self) -> None:
        """Brings the interface up and sets its parameters."""
        if self._params.pop("up", True):
            with kernel_settings.inside(self.node):
                kernel_settings.bring_up(self.name)
        super().config(up=None, **self._params)


class EmulatedLink(Link, ChangeableLink):
    """A Mininet link that is what its specifications say, and can be changed while packets are in it.

    Args:
        spec: of both directions; or `a_to_b` and `b_to_a` for each, seen from node1 (a) to node2 (b).
        seed: of everything random, so that a run can be repeated. The default is made of the interfaces' names, because
            links of one specification must not lose the same packets, by their number, at the same time.
        wait: return when the link is complete and its interfaces are up. A network of many links does not wait, and
            calls `complete` for all of them, so that they start at the same time.
    """

    emulator: str
    """The name by which people choose it."""

    interface: type[EmulatedInterface] = EmulatedInterface
    """Of both ends."""

    is_complete = False
    """Whether it passes packets, and its interfaces are up."""

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
        self._requested_seed = seed
        super().__init__(node1, node2, **{**params, "intf": self.interface, "cls1": None, "cls2": None})
        if wait:
            complete([self])

    @override
    def makeIntfPair(  # noqa: N802 - Mininet's hook
        self, name1: str, name2: str, mac1: str | None, mac2: str | None, node1: Node, node2: Node, **_: Any
    ) -> None:
        default_seed = zlib.crc32(f"{name1}:{name2}".encode())
        self.seed = default_seed if self._requested_seed is None else self._requested_seed
        self.begin(LinkEnd(name1, mac1, node1), LinkEnd(name2, mac2, node2))

    @classmethod
    @abstractmethod
    def require(cls) -> None:
        """Raises MissingCapability if this machine, or this user, cannot make such links."""

    @abstractmethod
    def begin(self, a: LinkEnd, b: LinkEnd) -> None:
        """Begins to make the link, or only plans it: `make_all` does the rest."""

    @classmethod
    @abstractmethod
    def make_all(cls, links: Sequence[Self]) -> None:
        """Finishes links that `begin` has begun or planned."""

    @property
    def name(self) -> str:
        """The two interfaces that it joins, for example `h1-eth0:s1-eth1`."""
        return f"{self.intf1}:{self.intf2}"

    @abstractmethod
    def stats(self) -> dict[str, Any]:
        """The link's counters: `{"directions": {"a_to_b": {...}, "b_to_a": {...}}}`.

        Of each direction at least `in_packets`, `in_bytes`, `out_packets`, `out_bytes`, `queued_packets`,
        `queued_bytes`, those of `topologies.links.spec.COUNTERS`, `queue_peak_bytes`, `drops` (packets by cause, see
        DROP_CAUSES), `lateness_ns` (`p50`, `p99`, `max`, `histogram`), and `spec` as in force, with `max_frame_bytes`
        (0: single segments only), `blackhole` and `down`. A value is None if the emulator does not know it. Packets are
        wire segments, also those of super-frames. At rest in + duplicated = out + drops + queued.

        Raises:
            MeasurementFailed: the emulator has ended.
        """

    @abstractmethod
    def reset(self) -> None:
        """Clears lateness and queue peaks, so that they start again; the counters go on."""

    @abstractmethod
    def check(self) -> None:
        """Raises MeasurementFailed if the emulator has ended, so that nothing is measured over a broken link."""

    @abstractmethod
    def remove(self) -> None:
        """Ends the emulator and removes its interfaces, some of which may be gone already."""

    @override
    def delete(self) -> None:
        self.remove()
        for interface in (self.intf1, self.intf2):
            interface.node.delIntf(interface)

    def end_soon(self) -> None:
        """Asks the emulator to end without waiting for it, so that many links end at a time; `stop` must follow."""


def complete(links: Sequence[EmulatedLink]) -> None:
    """Completes links that were made with `wait=False`: returns when they pass packets and their interfaces are up."""
    for kind, of_kind in groupby(sorted(links, key=lambda link: type(link).__qualname__), lambda link: type(link)):
        kind.make_all(list(of_kind))
    for link in links:
        link.intf1.complete()
        link.intf2.complete()
        link.is_complete = True
