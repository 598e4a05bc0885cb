"""Base class of all link emulators: a Mininet link that follows its specification and can be changed."""

import dataclasses
import subprocess
import zlib
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Self

from mininet.link import Intf, Link
from mininet.node import Node

from flightpath.errors import FlightpathError
from flightpath.overrides import override
from topologies.links.changes import ChangeableLink
from topologies.links.spec import LinkSpec
from topologies.sandbox import kernel_settings

_DELETION_GROUP = 0x666C7470
"""Group (ip-link(8)) of interfaces that are about to be deleted."""

DROP_CAUSES = ("queue", "aqm", "loss", "blackhole", "down", "malformed", "device")
"""Causes of dropped packets in a link's statistics (explained in native/relay/frames/stats.h)."""


@dataclasses.dataclass(frozen=True)
class LinkEnd:
    """An interface to be made as one end of a link.

    Attributes:
        mac: MAC address; None leaves the choice to the kernel.
        node: the node that gets the interface; None is this process's namespace.
        gso_bytes: size of the largest GSO packet that it sends; None is the kernel's default.
    """

    name: str
    mac: str | None = None
    node: Node | None = None
    gso_bytes: int | None = None

    @property
    def namespace_pid(self) -> int | None:
        """PID of a process in the interface's network namespace; None is this process's namespace."""
        return self.node.pid if self.node is not None and self.node.inNamespace else None

    def veth(self, mtu_bytes: int) -> str:
        """Returns ip(8)'s arguments for this end of a veth pair."""
        address = f" address {self.mac}" if self.mac else ""
        namespace = f" netns {self.namespace_pid}" if self.namespace_pid is not None else ""
        bound = f" gso_max_size {self.gso_bytes}" if self.gso_bytes else ""
        return f"{self.name} mtu {mtu_bytes}{bound}{address}{namespace}"


def veth_pair(a: LinkEnd, b: LinkEnd, mtu_bytes: int) -> str:
    """Returns a line for `ip -batch` that makes a veth pair, each end in its node."""
    return f"link add {a.veth(mtu_bytes)} type veth peer name {b.veth(mtu_bytes)}"


def delete_interfaces(names: Iterable[str]) -> None:
    """Deletes interfaces in this process's namespace, as far as they exist, all at once.

    One by one would take many times longer: after each deletion the kernel waits until no processor can be using it.
    """
    lines = [f"link set dev {name} group {_DELETION_GROUP}\n" for name in names]
    if lines:
        lines.append(f"link delete group {_DELETION_GROUP}\n")
        command = ["ip", "-force", "-batch", "-"]
        subprocess.run(command, input="".join(lines), text=True, capture_output=True, check=False)


class EmulatedInterface(Intf):
    """An interface configured only when its link is complete: Mininet would configure it before it exists."""

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
    """A Mininet link that emulates its specifications, which can change while it carries packets.

    Args:
        spec: specification of both directions; or `a_to_b` and `b_to_a`, from node1 (a) to node2 (b) and back.
        seed: seed of all random events, so that a run can be repeated. The default depends on the interfaces' names:
            two links with one specification must not lose the same packets.
        wait: return when the link is complete and its interfaces are up. A network with many links does not wait, and
            calls `complete` for all of them, so that they start in parallel.
    """

    emulator: str
    """Name of the emulator, as users choose it."""

    interface: type[EmulatedInterface] = EmulatedInterface
    """Class of both ends."""

    inner_names: Sequence[str] = ()
    """Interfaces between its ends, in this process's namespace."""

    records_changes = False
    """Whether `change_made_ns` knows; otherwise `stats` shows which settings are in force."""

    seed: int

    is_complete = False
    """True once the link passes packets and its interfaces are up."""

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
    def require(cls, disciplines: Collection[str] = ()) -> None:
        """Raises MissingCapability if this machine, or this user, cannot make such links, with these queues."""

    @classmethod
    def refuse_impossible(cls, spec: LinkSpec) -> None:
        """Raises UsageError, naming the field, for a specification that this emulator cannot emulate."""

    @abstractmethod
    def begin(self, a: LinkEnd, b: LinkEnd) -> None:
        """Starts making the link, or only plans it; `make_all` does the rest."""

    @classmethod
    @abstractmethod
    def make_all(cls, links: Sequence[Self]) -> None:
        """Finishes links that `begin` has started or planned."""

    def use_carrier(self) -> None:
        """Has all interfaces send, which have come up."""
        kernel_settings.use_carrier(*self.inner_names)
        for end in (self.intf1, self.intf2):
            with kernel_settings.inside(end.node):
                kernel_settings.use_carrier(end.name)

    @property
    def name(self) -> str:
        """Names of the two interfaces, for example `h1-eth0:s1-eth1`."""
        return f"{self.intf1}:{self.intf2}"

    @abstractmethod
    def stats(self) -> dict[str, Any]:
        """Returns the link's counters: `{"directions": {"a_to_b": {...}, "b_to_a": {...}}}`.

        Each direction has at least `in_packets`, `in_bytes`, `out_packets`, `out_bytes`, `queued_packets`,
        `queued_bytes`, those of `topologies.links.spec.COUNTERS`, `queue_peak_bytes`, `drops` (packets by cause, see
        DROP_CAUSES), `lateness_ns` (`p50`, `p99`, `max`, `histogram`), and `spec` as in force, with `max_frame_bytes`
        (0: single segments only), `blackhole` and `down`. A value is None if the emulator does not know it. Packets are
        segments on the wire; each segment of a GSO packet counts. When idle, in + duplicated = out + drops + queued.

        Raises:
            MeasurementFailed: the emulator has ended.
        """

    @classmethod
    def stats_of(cls, links: Sequence[Self]) -> list[dict[str, Any]]:
        """Returns the counters of several links of this emulator: one by one, or faster."""
        return [link.stats() for link in links]

    def change_made_ns(self, due_ns: int) -> int | None:
        """Returns when a change due at `due_ns` was made, on CLOCK_MONOTONIC; None if it was not, or is not known."""
        return None

    def reset(self) -> None:
        """Resets lateness and queue peaks, if the emulator measures them; the counters continue."""

    @abstractmethod
    def check(self) -> None:
        """Raises MeasurementFailed if the emulator has ended: a result over a broken link is invalid."""

    @abstractmethod
    def remove(self) -> None:
        """Ends the emulator and removes its interfaces, as far as they still exist."""

    @classmethod
    def remove_all(cls, links: Sequence[Self]) -> None:
        """Removes several links of this emulator: one by one, or faster."""
        for link in links:
            link.remove()

    @override
    def delete(self) -> None:
        self.remove()
        for interface in (self.intf1, self.intf2):
            interface.node.delIntf(interface)

    def terminate_async(self) -> None:
        """Asks the emulator to end without waiting, so that links end in parallel; `remove` must follow."""


def complete(links: Iterable[EmulatedLink]) -> None:
    """Completes links made with `wait=False`; returns when they pass packets and their interfaces are up."""
    links = list(links)
    for kind, of_kind in by_kind(links):
        kind.make_all(of_kind)
    for link in links:
        link.intf1.complete()
        link.intf2.complete()
    for link in links:
        link.use_carrier()
        link.is_complete = True


def by_kind(links: Iterable[EmulatedLink]) -> Iterator[tuple[type[EmulatedLink], list[EmulatedLink]]]:
    """Yields links by their class."""
    for kind, of_kind in groupby(sorted(links, key=lambda link: type(link).__qualname__), type):
        yield kind, list(of_kind)
