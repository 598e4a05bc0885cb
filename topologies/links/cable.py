"""A link that emulates nothing: the kernel's own veth pair, which no emulator in between could be as fast as."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mininet.link import Intf

from flightpath.commands import run
from flightpath.errors import MeasurementFailed, UsageError
from topologies.links.emulated_link import Direction, EmulatedLink, LinkEnd
from topologies.links.spec import LinkSpec
from topologies.links.veth import veth_pair
from topologies.sandbox import kernel_settings

_NO_DROPS = dict.fromkeys(("queue", "aqm", "loss", "blackhole", "down", "malformed", "device"), 0)


class Cable(EmulatedLink):
    """A Mininet link over a bare veth pair; arguments as EmulatedLink.

    What it cannot be it refuses: any specification that shapes packets, and every change while it is up.
    """

    emulator = "cable"

    def begin(self, a: LinkEnd, b: LinkEnd) -> None:
        """Plans the pair, each end where its node is."""
        for spec in (self.a_to_b, self.b_to_a):
            if not spec.emulates_nothing:
                raise UsageError(f"a cable cannot be: {spec}", "choose another emulator: relay, or netem")
        self._remove = [*kernel_settings.entry(a.node), "ip", "link", "delete", "dev", a.name]
        self._plan = veth_pair(a, b, self.a_to_b.mtu_bytes)

    @classmethod
    def make_all(cls, links: Sequence[Self]) -> None:
        """See EmulatedLink: one program makes all pairs."""
        run(["ip", "-batch", "-"], stdin="\n".join(link._plan for link in links))

    def apply(self, direction: Direction, spec: LinkSpec, at_ns: int | None = None) -> None:
        """See EmulatedLink.

        Raises:
            UsageError: always, but for the specification that it has.
        """
        if spec != getattr(self, direction):
            self._refuse()

    def set_carrier(self, up: bool, at_ns: int | None = None) -> None:
        """Raises UsageError."""
        self._refuse()

    def set_black_hole(self, on: bool, *directions: Direction, at_ns: int | None = None) -> None:
        """Raises UsageError."""
        self._refuse()

    def stats(self) -> dict[str, Any]:
        """See EmulatedLink; a super-frame counts as one packet, and its headers once: the kernel tells no more."""
        a, b = self._read(self.intf1), self._read(self.intf2)
        return {"name": self.name, "directions": {"a_to_b": _direction(a, b), "b_to_a": _direction(b, a)}}

    def reset(self) -> None:
        """Nothing to forget: a cable keeps neither lateness nor queue peaks."""

    def check(self) -> None:
        """Raises MeasurementFailed if an end is gone."""
        self._read(self.intf1)
        self._read(self.intf2)

    def delete(self) -> None:
        """Removes one end, and the other goes with it."""
        # It may have gone already, with the network namespace of a node.
        subprocess.run(self._remove, capture_output=True, check=False)
        for interface in (self.intf1, self.intf2):
            interface.node.delIntf(interface)

    def _read(self, interface: Intf) -> "_Counters":
        for line in Path(f"/proc/{interface.node.pid}/net/dev").read_text().splitlines():
            name, _, counted = line.partition(":")
            if name.strip() == interface.name:
                return _Counters(*(int(counted.split()[column]) for column in (0, 1, 11)))
        raise MeasurementFailed(f"cable {self.name}: its interface {interface.name} is gone")

    def _refuse(self) -> None:
        raise UsageError(
            f"link {self.name} emulates nothing and is a bare veth pair, which cannot change",
            "give it a bandwidth or a delay from the start, or choose --emulator relay",
        )


@dataclass(frozen=True)
class _Counters:
    """What the kernel counts at one end."""

    received_bytes: int
    received_packets: int
    unsent_packets: int


def _direction(sender: _Counters, receiver: _Counters) -> dict[str, Any]:
    return {
        "in_packets": receiver.received_packets + sender.unsent_packets,
        "in_bytes": receiver.received_bytes,
        "out_packets": receiver.received_packets,
        "out_bytes": receiver.received_bytes,
        "queued_packets": 0,
        "queued_bytes": 0,
        "duplicated_packets": 0,
        "ecn_marked": 0,
        "queue_peak_bytes": None,
        "drops": {**_NO_DROPS, "device": sender.unsent_packets},
        "lateness_ns": None,
        "spec": {"rate_bps": None, "delay_ns": 0, "loss": 0.0, "max_frame_bytes": None},
    }
