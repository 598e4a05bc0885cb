"""Links by the relay, which emulates rate, delay, loss and queue in user space, on any kernel with TAP devices."""

import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import native
from flightpath.clock import Clock, clock_here
from flightpath.commands import end_and_close
from flightpath.errors import MissingCapability
from flightpath.overrides import override
from topologies.links import native_program
from topologies.links.changes import DIRECTIONS, Direction
from topologies.links.emulated_link import EmulatedLink, LinkEnd
from topologies.links.spec import KERNEL_DISCIPLINES, LinkSpec
from topologies.sandbox.sandbox import TEMPORARY

_TUN = Path("/dev/net/tun")


class RelayLink(EmulatedLink):
    """A Mininet link over one relay process."""

    emulator = "relay"
    _process: subprocess.Popen[str] | None = None

    @classmethod
    @override
    def require(cls, disciplines: Collection[str] = ()) -> None:
        native.binary("relay")
        _require_disciplines(disciplines)
        if not _TUN.exists():
            raise MissingCapability(f"this machine has no {_TUN}", "as root: modprobe tun")
        if not os.access(_TUN, os.R_OK | os.W_OK):
            raise MissingCapability(
                f"this user may not open {_TUN}, which links need",
                f"run it with sudo, or as root: chmod 666 {_TUN} (the default of most distributions)",
            )

    @override
    def begin(self, a: LinkEnd, b: LinkEnd) -> None:
        # The relay makes both TAP devices in their nodes; make_all() waits for it.
        _require_disciplines([self.a_to_b.discipline, self.b_to_a.discipline])
        self._control_path = TEMPORARY / f"link-{a.name}"
        self._process = native_program.start(
            [
                str(native.binary("relay")),
                *("--name", f"{a.name}:{b.name}", "--mtu", str(self.a_to_b.mtu_bytes)),
                *("--a", _device(a), "--b", _device(b)),
                *(("--a-mac", a.mac) if a.mac else ()),
                *(("--b-mac", b.mac) if b.mac else ()),
                *("--a-to-b", _as_text(self.a_to_b.settings)),
                *("--b-to-a", _as_text(self.b_to_a.settings)),
                *("--control", str(self._control_path), "--seed", str(self.seed)),
                *(("--exact",) if clock_here() is Clock.VIRTUAL else ()),
            ]
        )

    @classmethod
    @override
    def make_all(cls, links: Sequence[Self]) -> None:
        for link in links:
            assert link._process is not None, "begin() has started it"
            native_program.wait_ready(link._process, f"link {link.name}", MissingCapability)

    @override
    def stats(self) -> dict[str, Any]:
        return self._ask("stats")

    @override
    def apply(self, direction: Direction, spec: LinkSpec, at_ns: int | None = None) -> None:
        # Only the difference: a trace that is set again would restart, and a scheduled change must not undo another one
        # that was made in the meantime.
        _require_disciplines([spec.discipline])
        before = getattr(self, direction).settings
        changed = {key: value for key, value in spec.settings.items() if before.get(key) != value}
        if changed:
            self._request(f"set {_way(direction)} {_as_text(changed)}", at_ns)

    @override
    def set_carrier(self, up: bool, at_ns: int | None = None) -> None:
        self._request("up" if up else "down", at_ns)
        if up and at_ns is None:
            self.use_carrier()

    @override
    def set_black_hole(self, on: bool, *directions: Direction, at_ns: int | None = None) -> None:
        for direction in directions or DIRECTIONS:
            self._request(f"set {_way(direction)} blackhole={int(on)}", at_ns)

    @override
    def reset(self) -> None:
        self._ask("reset")

    @override
    def check(self) -> None:
        native_program.check(self._process, f"the relay of link {self.name}")

    @override
    def terminate_async(self) -> None:
        if self._process is not None:
            self._process.terminate()

    @override
    def remove(self) -> None:
        if self._process is not None:
            end_and_close(self._process)
            self._process = None

    def _request(self, request: str, at_ns: int | None) -> None:
        self._ask(request if at_ns is None else f"at {at_ns} {request}")

    def _ask(self, request: str) -> dict[str, Any]:
        subject = f"link {self.name}"
        program = f"the relay of {subject}"
        return native_program.ask(self._control_path, request, process=self._process, program=program, subject=subject)


def _require_disciplines(disciplines: Collection[str]) -> None:
    for discipline in set(disciplines) & set(KERNEL_DISCIPLINES):
        raise MissingCapability(
            f"the relay has no queue discipline {discipline}",
            "use --clock virtual, whose kernel has it; or --emulator netem, if this kernel has it",
        )


def _way(direction: Direction) -> str:
    return direction.replace("_", "-")


def _as_text(settings: Mapping[str, object]) -> str:
    return ",".join(f"{key}={value}" for key, value in settings.items())


def _device(end: LinkEnd) -> str:
    return end.name if end.namespace_pid is None else f"{end.name}@{end.namespace_pid}"
