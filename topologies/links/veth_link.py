"""Links that emulate nothing: bare veth pairs, faster than any emulator."""

import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Self

from mininet.link import Intf

from flightpath.commands import run
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.overrides import override
from topologies.links.changes import Direction
from topologies.links.emulated_link import DROP_CAUSES, EmulatedLink, LinkEnd, delete_interfaces, veth_pair
from topologies.links.fields import Effect
from topologies.links.spec import COUNTERS, LinkSpec
from topologies.sandbox import kernel_settings

_LINKS_AT_ONCE = 512
"""Number of links that one program makes: each program has its own timeout, so the limit is for progress."""


class VethLink(EmulatedLink):
    """A Mininet link over a bare veth pair. It refuses specifications that shape packets, and all changes."""

    emulator = "cable"

    @classmethod
    @override
    def require(cls, disciplines: Collection[str] = ()) -> None:
        pass

    @override
    def begin(self, a: LinkEnd, b: LinkEnd) -> None:
        for spec in (self.a_to_b, self.b_to_a):
            if spec.effect > Effect.NONE:
                raise UsageError(f"a bare veth pair cannot emulate: {spec}", "choose another emulator: relay, or netem")
        self._ends: tuple[LinkEnd, ...] = (a, b)
        self._plan = veth_pair(a, b, self.a_to_b.mtu_bytes)

    @classmethod
    @override
    def make_all(cls, links: Sequence[Self]) -> None:
        for first in range(0, len(links), _LINKS_AT_ONCE):
            run(["ip", "-batch", "-"], stdin="\n".join(link._plan for link in links[first : first + _LINKS_AT_ONCE]))

    @override
    def apply(self, direction: Direction, spec: LinkSpec, at_ns: int | None = None) -> None:
        if spec != getattr(self, direction):
            self._refuse_change()

    def _refuse_change(self, *_: object, **__: object) -> None:
        raise UsageError(
            f"link {self.name} emulates nothing and is a bare veth pair, which cannot change",
            "give it a bandwidth or a delay from the start, or choose --emulator relay",
        )

    set_carrier = set_black_hole = _refuse_change

    def stats(self) -> dict[str, Any]:
        """Returns the kernel's counters. A GSO packet counts as one packet with one set of headers."""
        a, b = self._read(self.intf1), self._read(self.intf2)
        return {"name": self.name, "directions": {"a_to_b": _direction(a, b), "b_to_a": _direction(b, a)}}

    @override
    def check(self) -> None:
        self._read(self.intf1)
        self._read(self.intf2)

    @override
    def remove(self) -> None:
        if self._ends:  # one takes the other with it
            command = [*kernel_settings.entry(self._ends[0].node), "ip", "link", "delete", "dev", self._ends[0].name]
            subprocess.run(command, capture_output=True, check=False)
            self._ends = ()

    @classmethod
    @override
    def remove_all(cls, links: Sequence[Self]) -> None:
        here = {link: end.name for link in links for end in link._ends if end.namespace_pid is None}
        delete_interfaces(here.values())
        for link in links:
            if link in here:
                link._ends = ()
            link.remove()

    def _read(self, interface: Intf) -> tuple[int, ...]:
        """Returns one end's received bytes, received packets, and packets that the kernel could not send."""
        for line in Path(f"/proc/{interface.node.pid}/net/dev").read_text().splitlines():
            name, _, numbers = line.partition(":")
            if name.strip() == interface.name:
                return tuple(int(numbers.split()[column]) for column in (0, 1, 11))
        raise MeasurementFailed(f"link {self.name}: its interface {interface.name} is gone")


def _direction(sender: tuple[int, ...], receiver: tuple[int, ...]) -> dict[str, Any]:
    (*_, unsent), (octets, packets, _) = sender, receiver
    return {
        "in_packets": packets + unsent,
        "in_bytes": octets,
        "out_packets": packets,
        "out_bytes": octets,
        "queued_packets": 0,
        "queued_bytes": 0,
        **dict.fromkeys(COUNTERS, 0),
        "queue_peak_bytes": None,
        "drops": {**dict.fromkeys(DROP_CAUSES, 0), "device": unsent},
        "lateness_ns": None,
        "spec": {"rate_bps": None, "delay_ns": 0, "loss": 0.0, "max_frame_bytes": None},
    }
