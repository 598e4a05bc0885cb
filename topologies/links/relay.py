"""A link whose wire is the relay: rate, delay, loss and queue in user space, on any kernel that has TAP devices."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import native
from flightpath.commands import end_and_close
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability
from topologies.links import control_socket
from topologies.links.emulated_link import DIRECTIONS, Direction, EmulatedLink, LinkEnd
from topologies.links.spec import BurstLoss, LinkSpec
from topologies.sandbox.sandbox import TEMPORARY

_TUN = Path("/dev/net/tun")


class RelayLink(EmulatedLink):
    """A Mininet link over one relay process; arguments as EmulatedLink."""

    emulator = "relay"
    _process: subprocess.Popen[str] | None = None

    def begin(self, a: LinkEnd, b: LinkEnd) -> None:
        """Starts the relay, which makes both TAP devices where their nodes are; `make_all` waits for it."""
        self._control_path = TEMPORARY / f"link-{a.name}"
        self._process = subprocess.Popen(
            [
                str(native.binary("relay")),
                *("--name", f"{a.name}:{b.name}", "--mtu", str(self.a_to_b.mtu_bytes)),
                *("--a", _device(a), "--b", _device(b)),
                *(("--a-mac", a.mac) if a.mac else ()),
                *(("--b-mac", b.mac) if b.mac else ()),
                *("--a-to-b", _as_text(_relay_settings(self.a_to_b))),
                *("--b-to-a", _as_text(_relay_settings(self.b_to_a))),
                *("--control", str(self._control_path), "--seed", str(self.seed)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @classmethod
    def make_all(cls, links: Sequence[Self]) -> None:
        """See EmulatedLink: waits for relays that start beside each other."""
        for link in links:
            link._wait_ready()

    def stats(self) -> dict[str, Any]:
        """The relay's counters, per direction `a_to_b` and `b_to_a`, as it prints them (`relay --help`).

        Raises:
            MeasurementFailed: the relay has ended.
        """
        return self._ask("stats")

    def apply(self, direction: Direction, spec: LinkSpec, at_ns: int | None = None) -> None:
        """See EmulatedLink."""
        # Only what differs: to name a trace again would start it again, and a change that waits for its time must not
        # undo another that was made meanwhile.
        before = _relay_settings(getattr(self, direction))
        changed = {key: value for key, value in _relay_settings(spec).items() if before.get(key) != value}
        if changed:
            self._tell(f"set {_way(direction)} {_as_text(changed)}", at_ns)

    def set_carrier(self, up: bool, at_ns: int | None = None) -> None:
        """See EmulatedLink; the kernel reports NO-CARRIER on both interfaces."""
        self._tell("up" if up else "down", at_ns)

    def set_black_hole(self, on: bool, *directions: Direction, at_ns: int | None = None) -> None:
        """See EmulatedLink."""
        for direction in directions or DIRECTIONS:
            self._tell(f"set {_way(direction)} blackhole={int(on)}", at_ns)

    def reset(self) -> None:
        """Forgets lateness and queue peaks so far, so that they tell of what follows; the counters go on."""
        self._ask("reset")

    def check(self) -> None:
        """Raises MeasurementFailed if the relay has ended: what was measured over it since then is worth nothing."""
        if self._process is None or self._process.poll() is not None:
            code = self._process.returncode if self._process else "none"
            raise MeasurementFailed(f"the relay of link {self.name} has ended (exit code {code})")

    def end_soon(self) -> None:
        """See EmulatedLink."""
        if self._process is not None:
            self._process.terminate()

    def delete(self) -> None:
        """Ends the relay; its interfaces go with it."""
        if self._process is not None:
            end_and_close(self._process)
            self._process = None
        for interface in (self.intf1, self.intf2):
            interface.node.delIntf(interface)

    def _wait_ready(self) -> None:
        if self._process.stdout.readline() != "ready\n":
            said = self._process.communicate()[1].strip()
            lacking = self._process.returncode == MissingCapability.exit_code
            raise (MissingCapability if lacking else FlightpathError)(f"link {self.name}: {said}")

    def _tell(self, request: str, at_ns: int | None) -> None:
        self._ask(request if at_ns is None else f"at {at_ns} {request}")

    def _ask(self, request: str) -> dict[str, Any]:
        self.check()
        subject = f"link {self.name}"
        return control_socket.ask(self._control_path, request, program=f"the relay of {subject}", subject=subject)


def require_relay() -> None:
    """Raises MissingCapability if the relay is not built or this user cannot make TAP devices."""
    native.binary("relay")
    if not _TUN.exists():
        raise MissingCapability(f"this machine has no {_TUN}", "as root: modprobe tun")
    if not os.access(_TUN, os.R_OK | os.W_OK):
        raise MissingCapability(
            f"this user may not open {_TUN}, of which links are made",
            f"run it with sudo, or as root: chmod 666 {_TUN} (the default of most distributions)",
        )


def _way(direction: Direction) -> str:
    return direction.replace("_", "-")


def _relay_settings(spec: LinkSpec) -> dict[str, object]:
    """All of a specification, by the relay's keys (`relay --help`)."""
    burst = spec.burst_loss or BurstLoss(0, 0)
    packets = spec.queue_packets
    return {
        "rate_bps": spec.bandwidth_bps or 0,
        "trace": spec.trace or "",
        "delay_ns": round(spec.delay_s * 1e9),
        "jitter_ns": round(spec.jitter_s * 1e9),
        "jitter": spec.jitter_distribution,
        "reorder": int(spec.reordering),
        "loss": spec.loss,
        "burst_enter": burst.enter,
        "burst_leave": burst.leave,
        "burst_loss_bad": burst.loss_bad,
        "burst_loss_good": burst.loss_good,
        "duplicate": spec.duplication,
        **({"queue_bytes": spec.queue_bytes} if packets is None else {"queue_packets": packets}),
        "discipline": spec.discipline,
        "ecn": int(spec.ecn),
    }


def _as_text(settings: Mapping[str, object]) -> str:
    return ",".join(f"{key}={value}" for key, value in settings.items())


def _device(end: LinkEnd) -> str:
    return end.name if end.namespace_pid is None else f"{end.name}@{end.namespace_pid}"
