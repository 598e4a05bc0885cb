"""Recordings: when each packet enters and leaves each link, and the state of each connection (native/recorder)."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from mininet.net import Mininet

import native
from flightpath.clock import Clock, clock_here
from flightpath.errors import MissingCapability
from topologies.links import native_program
from topologies.links.emulated_link import EmulatedLink

MAX_BYTES = 450_000_000
"""Size of the file at which a recording ends, before it is compressed: more than 10 million packets."""

_SAMPLING_INTERVAL_US = 10_000
"""Interval at which connections are sampled, if there are few."""


class Recorder:
    """A context manager that records the links of a network into a file.

    When it has been left, the file lacks `description` at its end, which `results.recording.file` appends.

    Args:
        file: replaced if it exists.
        limit_bytes: size at which the recording ends.
        links: those to record; all by default.

    Attributes:
        found: counts of what was recorded, or the `problem`; in virtual time also `slowdown`, the factor by which
            recording prolonged the computation.
        description: the network, and when the recording began and ended; empty if there was a problem.
    """

    def __init__(
        self,
        network: Mininet,
        file: Path,
        limit_bytes: int = MAX_BYTES,
        links: Sequence[EmulatedLink] | None = None,
    ) -> None:
        self.file = file
        self.found: Mapping[str, Any] = {}
        self.description: Mapping[str, Any] = {}
        self._network, self._limit = network, limit_bytes
        self._links: Sequence[EmulatedLink] = network.links if links is None else links
        self._began_ns = self._began_monotonic_ns = 0

    def __enter__(self) -> Self:
        """Starts the recording; returns when it sees packets."""
        ends = [_interface(end) for link in self._links for end in (link.intf1, link.intf2)]
        program = str(native.binary("recorder"))
        self._process = native_program.start(
            [program, str(self.file), str(self._limit), str(_SAMPLING_INTERVAL_US), *ends]
        )
        native_program.wait_ready(self._process, "--record", MissingCapability)
        self._began_ns, self._began_monotonic_ns = time.time_ns(), time.monotonic_ns()
        return self

    def __exit__(self, *_: object) -> None:
        ended_ns = time.time_ns()
        self._process.terminate()
        output, errors = self._process.communicate()
        try:
            self.found = found = json.loads(output)
        except ValueError:
            self.found = {"problem": errors.strip() or "the recorder ended"}
            return
        if not found["slowdown"] or clock_here() is Clock.REAL:  # there it would count waiting
            del found["slowdown"]
        self.description = {
            "hosts": [host.name for host in self._network.hosts],
            "switches": [switch.name for switch in self._network.switches],
            "links": [_link(link) for link in self._links],
            "began_ns": self._began_ns,
            "ended_ns": ended_ns,
            "began_monotonic_ns": self._began_monotonic_ns,
        }


def _interface(interface: Any) -> str:
    node = interface.node
    return f"{interface.name}@{node.pid}" if node.inNamespace else str(interface.name)


def _link(link: EmulatedLink) -> Mapping[str, Any]:
    return {
        "name": link.name,
        "nodes": [link.intf1.node.name, link.intf2.node.name],
        "directions": [
            {
                "specification": str(spec),
                "bandwidth_bps": spec.bandwidth_bps,
                "delay_ns": round(spec.delay_s * 1e9),
                "queue_bytes": spec.queue_bytes if spec.bandwidth_bps else None,
                "lossy": bool(spec.loss or spec.burst_loss),
            }
            for spec in (link.a_to_b, link.b_to_a)
        ],
    }
