"""Links by the kernel's htb and netem: for kernels that have them, and as a reference for the relay.

    node1 ── A ═ A' ── X ═ Y ── B' ═ B ── node2        three veth pairs (═); only A and B are in the nodes

From a to b, packets that arrive on A' go to X (htb: queue and rate), over to Y, and on to B' (netem: loss, delay and so
on). From b to a it is the same, with Y and A'. The sender's own interface has no queueing discipline: its TCP would
notice one there and hold back, which it does not do for a queue on the path.
"""

import dataclasses
import hashlib
import os
import socket
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Self

from flightpath.commands import CommandFailed, at_once, require, run
from flightpath.errors import MeasurementFailed, MissingCapability
from flightpath.overrides import override
from topologies.links import dualpi2, traffic_control
from topologies.links.changes import DIRECTIONS, Direction
from topologies.links.emulated_link import EmulatedLink, LinkEnd, delete_interfaces, veth_pair
from topologies.links.netem_counters import NO_LOSS, Lost, Reading, lost_at_down
from topologies.links.spec import KERNEL_DISCIPLINES, LinkSpec
from topologies.links.timer import Timer
from topologies.links.traffic_control import Stages
from topologies.sandbox import kernel_settings


class NetemLink(EmulatedLink):
    """A Mininet link over htb and netem. It refuses traces and, while it is up, another queueing discipline."""

    emulator, records_changes = "netem", True

    @classmethod
    @override
    def require(cls, disciplines: Collection[str] = ()) -> None:
        # Tried in a network namespace that vanishes at once; the user's own network is not touched.
        as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        sandbox = [require("unshare"), *as_root, "--net"]
        try:
            run([*sandbox, require("tc"), "-batch", "-"], stdin="\n".join(traffic_control.PROBE))
        except CommandFailed as error:
            reason = str(error).partition("exit code ")[2].partition("\n")[0]
            raise MissingCapability(
                f"this kernel makes no netem links ({reason})",
                f"as root: modprobe -a {' '.join(traffic_control.MODULES)}; or use --emulator relay",
            ) from error
        for discipline in set(disciplines) & set(KERNEL_DISCIPLINES):
            try:
                run([*sandbox, require("tc"), "qdisc", "add", "dev", "lo", "root", discipline])
            except CommandFailed as error:
                raise MissingCapability(
                    f"this kernel has no queue discipline {discipline}",
                    f"use --clock virtual, whose kernel has it; or as root: modprobe sch_{discipline}",
                ) from error

    @classmethod
    @override
    def refuse_impossible(cls, spec: LinkSpec) -> None:
        traffic_control.refuse_impossible(spec)

    @override
    def begin(self, a: LinkEnd, b: LinkEnd) -> None:
        self._in_force = {way: getattr(self, way) for way in DIRECTIONS}
        for spec in self._in_force.values():
            traffic_control.refuse_impossible(spec)
        self._kinds = {way: traffic_control.queue_kind(spec) for way, spec in self._in_force.items()}
        self._lost: dict[Direction, Lost] = dict.fromkeys(DIRECTIONS, NO_LOSS)
        # netem takes seeds since Linux 6.6 and tc since 6.7. Without, a run cannot be repeated packet by packet.
        self._seeds: dict[Direction, int | None] = {way: 2 * self.seed + n for n, way in enumerate(DIRECTIONS)}
        bounds = {way: traffic_control.gso_packet_bytes(spec, self._kinds[way]) for way, spec in self._in_force.items()}
        a, b = (dataclasses.replace(end, gso_bytes=bounds[way]) for end, way in zip((a, b), DIRECTIONS, strict=True))
        # That none may enter, `make_all` sets when the interfaces are there.
        self._bounds = {way: bound for way, bound in bounds.items() if bound}
        self._black_holes, self._is_down = dict.fromkeys(DIRECTIONS, False), False
        self._lock = threading.Lock()
        self._timer = Timer()  # until it has that of the network
        self.inner_names, self._stages = stages_between(a.name, b.name)
        near, rate, landing, far = map(LinkEnd, self.inner_names)
        self._pairs = [veth_pair(*ends, self.a_to_b.mtu_bytes) for ends in ((a, near), (b, far), (rate, landing))]
        self._ends = {"a_to_b": a, "b_to_a": b}

    @classmethod
    @override
    def make_all(cls, links: Sequence[Self]) -> None:
        timer = Timer()
        for link in links:
            link._timer = timer
        run(["ip", "-batch", "-"], stdin="\n".join(line for link in links for line in link._pairs))
        names = [name for link in links for name in link.inner_names]
        for name in names:
            # The inner interfaces must send no packets of their own, not even when they come up.
            kernel_settings.write_sysctls({f"net.ipv6.conf.{name}.disable_ipv6": 1})
        _set_state("up", *names)
        try:
            _tc(line for link in links for line in link._stage_commands())
        except CommandFailed:
            cls.require({spec.discipline for link in links for spec in link._in_force.values()})
            raise
        try:
            _tc(
                traffic_control.netem(link._stages[way], spec, link._seeds[way])
                for link in links
                for way, spec in link._in_force.items()
            )
        except CommandFailed:
            for link in links:
                link._seeds = dict.fromkeys(DIRECTIONS, None)
        for link in links:
            for way, spec in link._in_force.items():
                link._configure_queue(way, spec)
        at_once(partial(link._bound_gso_packets, way, spec) for link in links for way, spec in link._in_force.items())

    @override
    def apply(self, direction: Direction, spec: LinkSpec, at_ns: int | None = None) -> None:
        traffic_control.refuse_impossible(spec)
        before = getattr(self, direction)
        traffic_control.refuse_change(before, spec, self._kinds[direction])
        # Only the difference: a scheduled change must neither take effect early with another one, nor undo one that was
        # made in the meantime.
        changed = {name: value for name, value in vars(spec).items() if value != getattr(before, name)}
        self._timer.call(at_ns, self._change_all, self, (self, direction, changed))

    @override
    def set_carrier(self, up: bool, at_ns: int | None = None) -> None:
        self._timer.call(at_ns, self._connect_all, self, (self, up))

    @override
    def set_black_hole(self, on: bool, *directions: Direction, at_ns: int | None = None) -> None:
        self._timer.call(at_ns, self._set_all_gates, self, (self, directions or DIRECTIONS, on))

    @override
    def change_made_ns(self, due_ns: int) -> int | None:
        return self._timer.made_ns.get(due_ns)

    def stats(self) -> dict[str, Any]:
        """Returns the kernel's counters, without lateness and queue peak.

        A queued GSO packet counts as one packet; its dropped segments are counted once the queue is empty.
        """
        return self.stats_of([self])[0]

    @classmethod
    @override
    def stats_of(cls, links: Sequence[Self]) -> list[dict[str, Any]]:
        for link in links:
            link.check()
        with _locked(links):
            reading = cls._read(*links)
            return [link._counters(reading) for link in links]

    @override
    def check(self) -> None:
        if self._timer.problem is not None:
            raise MeasurementFailed(f"a change of a link failed at its time: {self._timer.problem}")
        if gone := [name for name in self.inner_names if not _exists(name)]:
            raise MeasurementFailed(f"link {self.name}: its interface {', '.join(gone)} is gone")

    @override
    def remove(self) -> None:
        self.remove_all([self])

    @classmethod
    @override
    def remove_all(cls, links: Sequence[Self]) -> None:
        for link in links:
            if link.inner_names:
                link._timer.cancel(link)
        delete_interfaces(name for link in links for name in link.inner_names)
        for link in links:
            link.inner_names = ()

    def _stage_commands(self) -> Iterator[str]:
        yield from (f"qdisc add dev {name} clsact" for name in self.inner_names)
        for way, spec in self._in_force.items():
            yield from traffic_control.setup(self._stages[way], spec)

    def _change_lines(self, way: Direction, spec: LinkSpec) -> Iterator[str]:
        seed = partial(self._next_seed, way)
        return traffic_control.change(self._stages[way], self._in_force[way], spec, self._kinds[way], seed)

    def _next_seed(self, way: Direction) -> int | None:
        """Returns another seed, because with the old one netem would draw the same numbers again."""
        seed = self._seeds[way]
        self._seeds[way] = None if seed is None else traffic_control.next_seed(seed)
        return self._seeds[way]

    def _configure_queue(self, way: Direction, spec: LinkSpec) -> None:
        if self._kinds[way] == dualpi2.KIND:
            dualpi2.configure(self._stages[way].rate, traffic_control.CLASS, traffic_control.QUEUE, spec)

    @staticmethod
    def _change_all(changes: Sequence[tuple["NetemLink", Direction, Mapping[str, Any]]]) -> None:
        """Changes any number of links at once: one process for each would take a hundred times as long."""
        with _locked({link for link, _, _ in changes}):
            specs: dict[tuple[NetemLink, Direction], LinkSpec] = {}
            for link, way, changed in changes:
                specs[link, way] = dataclasses.replace(specs.get((link, way), link._in_force[way]), **changed)
            _tc(line for (link, way), spec in specs.items() for line in link._change_lines(way, spec))
            for (link, way), spec in specs.items():
                link._configure_queue(way, spec)
            at_once(partial(link._bound_gso_packets, way, spec) for (link, way), spec in specs.items())
            for (link, way), spec in specs.items():
                link._in_force[way] = spec

    def _bound_gso_packets(self, way: Direction, spec: LinkSpec) -> None:
        """Has the sender's kernel segment GSO packets before they enter the link: all, or those above a bound."""
        bound = traffic_control.gso_packet_bytes(spec, self._kinds[way])
        if bound == self._bounds.get(way):
            return
        end, switch = self._ends[way], "on" if bound else "off"
        with kernel_settings.inside(end.node):
            if way in self._bounds or not bound:  # a new interface has both on
                run([require("ethtool"), "-K", end.name, "tso", switch, "tx-udp-segmentation", switch])
            if bound:
                run(["ip", "link", "set", "dev", end.name, "gso_max_size", str(bound)])
        self._bounds[way] = bound

    def queue_statistics(self, way: Direction) -> dict[str, float]:
        """Returns what the kernel knows about a direction's queue of the kind dualpi2 (`dualpi2.statistics`)."""
        return dualpi2.read(self._stages[way].rate, traffic_control.QUEUE)

    @staticmethod
    def _set_all_gates(changes: Sequence[tuple["NetemLink", Sequence[Direction], bool]]) -> None:
        with _locked({link for link, _, _ in changes}):
            gates = [(link._stages[way], not hole) for link, directions, hole in changes for way in directions]
            _tc(traffic_control.gate(stages, is_open) for stages, is_open in gates)
            for link, directions, hole in changes:
                link._black_holes |= dict.fromkeys(directions, hole)

    @staticmethod
    def _connect_all(changes: Sequence[tuple["NetemLink", bool]]) -> None:
        for link, up in changes:
            if up:
                link._reconnect()
            else:
                link._cut()

    def _cut(self) -> None:
        """Takes the middle down first: then no packet enters the delay stage, and its loss can be computed."""
        near, rate, landing, far = self.inner_names
        with self._lock:
            _set_state("down", rate, landing)
            before = self._read(self)
            _set_state("down", near, far)
            after = self._read(self)
            for way, stages in self._stages.items():
                self._lost[way] = lost_at_down(stages, self._lost[way], before, after)
            self._is_down = True

    def _reconnect(self) -> None:
        with self._lock:
            _set_state("up", *self.inner_names)
            self.use_carrier()
            self._is_down = False

    @staticmethod
    def _read(*links: "NetemLink") -> Reading:
        gates = [stages.gate for link in links for stages in link._stages.values()]
        reading = Reading.take([name for link in links for name in link.inner_names], gates)
        dual = [(link, way) for link in links for way in DIRECTIONS if link._kinds[way] == dualpi2.KIND]
        queues = {link._stages[way].rate: link.queue_statistics(way) for link, way in dual}
        return dataclasses.replace(reading, dualpi2=queues)

    def _counters(self, reading: Reading) -> dict[str, Any]:
        counters = {
            way: {**reading.direction(self._stages[way], self._lost[way]), "spec": self._spec_in_force(way)}
            for way in DIRECTIONS
        }
        return {"name": self.name, "directions": counters}

    def _spec_in_force(self, way: Direction) -> dict[str, Any]:
        spec, facts = self._in_force[way], {"queue": self._kinds[way], "seed": self._seeds[way]}
        state = {"blackhole": self._black_holes[way], "down": self._is_down}
        return {**spec.settings, "rate_bps": spec.bandwidth_bps, "max_frame_bytes": self._bounds[way], **facts, **state}


def stages_between(a: str, b: str) -> tuple[tuple[str, ...], dict[Direction, Stages]]:
    """Names the inner interfaces of a link by a hash of its ends' names, so that they are unique."""
    number = int(hashlib.sha256(f"{a}:{b}".encode()).hexdigest()[:7], 16)
    near, rate, landing, far = names = tuple(f"nl{number:07x}{end}" for end in "axyb")
    ways: dict[Direction, Stages] = {
        "a_to_b": Stages(near, rate, landing, far, 2 * number + 1),
        "b_to_a": Stages(far, landing, rate, near, 2 * number + 2),
    }
    return names, ways


@contextmanager
def _locked(links: Iterable[NetemLink]) -> Iterator[None]:
    """Holds the locks of links, in one order, lest two threads wait for each other."""
    with ExitStack() as held:
        for link in sorted(links, key=lambda link: link.name):
            held.enter_context(link._lock)
        yield


def _exists(name: str) -> bool:
    try:
        return socket.if_nametoindex(name) > 0
    except OSError:
        return False


def _tc(lines: Iterable[str]) -> None:
    if text := "\n".join(lines):
        run([require("tc"), "-batch", "-"], stdin=text)


def _set_state(state: str, *names: str) -> None:
    run(["ip", "-batch", "-"], stdin="\n".join(f"link set dev {name} {state}" for name in names))
