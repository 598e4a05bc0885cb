"""Mininet's interactive command line (CLI), with commands for links and steered subflows."""

import inspect
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

from mininet.cli import CLI
from mininet.link import Intf, Link
from mininet.log import error, output
from mininet.node import Node

from flightpath.errors import FlightpathError, UsageError
from flightpath.overrides import override
from flightpath.units import format_bandwidth, format_duration
from topologies.calibration.links import calibrate
from topologies.links import events
from topologies.links.changes import DIRECTIONS
from topologies.links.conditions import Stepper
from topologies.links.emulated_link import EmulatedLink
from topologies.links.events import LinkEvent
from topologies.links.observing import EventObserver, has_carrier
from topologies.links.spec import LinkSpec, link_help
from topologies.mininet.captures import Captures
from topologies.mininet.certificates import CERTIFIER, certified
from topologies.mininet.network import require_display
from topologies.mininet.stopping import Stopping
from topologies.testbed.controller import FlightpathController

_NOW = "0"
_NO_EFFECT = {key: value for key, value in LinkSpec().settings.items() if key != "queue_packets"}
_FORMATS: Mapping[str, Callable[[float], str]] = {
    "_bps": format_bandwidth,
    "_ns": lambda nanoseconds: format_duration(nanoseconds / 1e9),
}


class FlightpathCLI(Stopping, CLI):
    """Mininet's CLI with commands that change links while they carry packets, and show steered connections.

    A link is named by its two nodes (`h1 s1`, or `h1-s1`), one direction as `h1->s1`, and one of several links between
    the same nodes by an interface (`h1-eth1`).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._due_ns: dict[EmulatedLink, int] = {}
        self._observer = EventObserver(_print_event)
        network = args[0] if args else kwargs["mininet"]
        self._stepper = Stepper(network)
        if sys.stdin.isatty():
            output("*** `certify` measures each link, `capture` keeps packets, `help` lists the rest\n")
        with Captures(network) as self._captures:
            super().__init__(*args, **kwargs)  # returns when the user leaves it
        self._observer.stop()

    @override
    def onecmd(self, line: str) -> bool | str | None:
        """Runs a command unless it is a comment; prints our errors in one line, and a certificate if hosts sent."""
        if line.lstrip().startswith("#"):
            return None
        mark = CERTIFIER.mark()
        try:
            return super().onecmd(line)
        except FlightpathError as problem:
            error(f"*** {'; '.join(part.strip() for part in str(problem).splitlines())}\n")
            return None
        finally:
            verb = line.partition(" ")[0]
            is_script = verb in ("source", "step", "until")  # each of its lines has a certificate; a step is a part
            if not is_script and (certificate := CERTIFIER.certificate(mark, always=verb == "certify")):
                output(certificate)

    @override
    def waitForNode(self, node: Node) -> None:
        """Prints a node's output until its command ends; unlike Mininet's, it does not pass a script on to it."""
        if self.isatty():
            super().waitForNode(node)
            return
        while node.waiting:
            try:
                output(node.monitor())
            except KeyboardInterrupt:
                node.sendInt()

    @override
    def do_source(self, line: str) -> None:
        """Read commands from a file.

        Usage: source FILE
        """
        try:
            commands = Path(line.strip()).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is not a text file"
            raise UsageError(f"source: cannot read {line.strip()!r}: {reason}") from problem
        for command in commands:
            self.onecmd(command)

    @override
    def do_xterm(self, line: str, term: str = "xterm") -> None:
        """Open a terminal for nodes.

        Usage: xterm NODE ...                          (needs a display of this machine)
        """
        require_display(term)
        super().do_xterm(line, term)

    @override
    def do_x(self, line: str) -> None:
        """Run a program with a window in a node.

        Usage: x NODE COMMAND                          (needs a display of this machine)
        """
        require_display()
        super().do_x(line)

    @override
    def do_links(self, line: str) -> None:
        """Show the present state of links: both ends (OK if up and connected, DOWN or MISSING), and their limits."""
        for link in self.mn.links:
            output(f"{link} ({_state(link.intf1)} {_state(link.intf2)}) {_in_force(link)}\n")

    def do_certify(self, line: str) -> None:
        """Measure each link against its specification; nothing else may use the links meanwhile.

        Usage: certify
        """
        results = [certified(way) for link in self._links() for way in calibrate(link)]
        output("".join(f"{line}\n" for line, _ in results))
        wrong = sum(not is_right for _, is_right in results)
        output(f"*** not as asked: {wrong} of {len(results)} directions\n" if wrong else "*** all links are as asked\n")

    def do_capture(self, line: str) -> None:
        """Capture packets in a file that Wireshark opens.

        Usage: capture INTERFACE FILE [EXPRESSION]     for example: capture h1-eth0 web.pcapng tcp port 80
               capture HOST FILE [EXPRESSION]          all interfaces of a host or switch
               capture stop [INTERFACE]                ends one, or all
               capture                                 lists them
        """
        words = line.split(maxsplit=2)
        if words[:1] == ["stop"]:
            self._captures.stop(words[1] if len(words) > 1 else None)
        elif len(words) >= 2:
            self._captures.start(*words)
        elif words:
            raise UsageError(f"capture: cannot read {line!r}", "for example: capture h1-eth0 web.pcapng")
        else:
            self._captures.list()

    def do_link_set(self, line: str) -> None:
        """Change a link while it carries packets; properties that are not named stay the same.

        Usage: link_set NODE NODE KEY=VALUE ...        both directions
               link_set NODE->NODE KEY=VALUE ...       one direction
               link_set INTERFACE KEY=VALUE ...        one of several links between two nodes
        Example: link_set h1 s1 bandwidth=10Mbit delay=20ms loss=0.1% queue=1bdp
        Keys:
        """
        self._do_now("link_set", line)

    def help_link_set(self) -> None:
        """Mininet's hook: `help link_set`."""
        output(inspect.cleandoc(self.do_link_set.__doc__ or ""), indent(f"\n{link_help()}\n", "  "))

    def do_link_down(self, line: str) -> None:
        """Cut a cable: both ends notice, and packets in it are lost.

        Usage: link_down NODE NODE
        """
        self._do_now("link_down", line)

    def do_link_up(self, line: str) -> None:
        """Reconnect a cable that was cut.

        Usage: link_up NODE NODE
        """
        self._do_now("link_up", line)

    def do_black_hole(self, line: str) -> None:
        """Drop all packets in a link while both ends stay up (on), or let them pass again (off).

        Usage: black_hole NODE NODE on|off             both directions
               black_hole NODE->NODE on|off            one direction
        """
        self._do_now("black_hole", line)

    def do_at(self, line: str) -> None:
        """Schedule link_set, link_down, link_up or black_hole; the emulator itself does it on time.

        Usage: at TIME COMMAND ...
        Example: at 5s link_set h1 s1 bandwidth=10Mbit
        """
        when, verb, rest = [*line.split(maxsplit=2), "", "", ""][:3]
        if not rest:
            raise UsageError("at: needs a time and a command", "for example: at 5s link_down h1 s1")
        event = _read(when, verb, rest)
        link, _ = self._find(event.link)
        start_ns = time.monotonic_ns()
        due_ns = start_ns + round(event.at_s * 1e9)
        self._require_no_change_after(event, link, due_ns)
        self._observer.follow(events.schedule([event], self._links(), start_ns), start_ns)
        if event.changes:
            self._due_ns[link] = due_ns

    def do_link_stats(self, line: str) -> None:
        """Show the present properties of links, and the packets carried and dropped since the start.

        Usage: link_stats                              all links
               link_stats NODE NODE
        """
        links = self._links()
        if line.strip():
            links = [self._find(_split(line)[0])[0]]
        for link in links:
            output("\n".join(_report(link)) + "\n")

    def do_connections(self, line: str) -> None:
        """Show the TCP connections that the controller steers, with their subflows and paths.

        Usage: connections                             (needs --controller steering)
        """
        if line.strip():
            raise UsageError(f"connections: cannot read {line!r}", "it takes no arguments")
        output(self._steering().show())

    def do_subflows(self, line: str) -> None:
        """Draw the network with the subflows on it.

        Usage: subflows draw FILE                      svg, png or pdf
        """
        verb, _, name = line.strip().partition(" ")
        if verb != "draw" or not name.strip():
            raise UsageError(f"subflows: cannot read {line!r}", "for example: subflows draw paths.svg")
        target = Path(name.strip()).resolve()
        self._steering().show("--draw", str(target))
        output(f"*** drawn: {target}\n")

    def _steering(self) -> FlightpathController:
        for controller in self.mn.controllers:
            if isinstance(controller, FlightpathController):
                return controller
        raise UsageError("this network has no controller of Flightpath", "start mn with --controller steering")

    def _do_now(self, verb: str, line: str) -> None:
        event = _read(_NOW, verb, line)
        link, directions = self._find(event.link)
        self._require_no_change_after(event, link, time.monotonic_ns())
        event.apply(link, directions)

    def _find(self, name: str) -> tuple[EmulatedLink, tuple[Any, ...]]:
        links = self._links()
        number, directions = events.find(name, [events.ends_of(link) for link in links])
        return links[number], directions

    def _links(self) -> list[EmulatedLink]:
        return [link for link in self.mn.links if isinstance(link, EmulatedLink)]

    def _require_no_change_after(self, event: LinkEvent, link: EmulatedLink, due_ns: int) -> None:
        """Refuses a change before a scheduled one, which would undo it because it sets all properties."""
        wait_s = (self._due_ns.get(link, due_ns) - due_ns) / 1e9
        if event.changes and wait_s > 0:
            raise UsageError(f"{link.name} has a change that is due {format_duration(wait_s)} later", "wait for it")


def _read(when: str, verb: str, line: str) -> LinkEvent:
    """Reads an event from the words of a command."""
    name, what = _split(line)
    match verb:
        case "link_set" if what:
            return LinkEvent.parse(f"{when} {name} {what}")
        case "link_down" | "link_up" if not what:
            return LinkEvent.parse(f"{when} {name} {verb.removeprefix('link_')}")
        case "black_hole" if what in ("on", "off"):
            return LinkEvent.parse(f"{when} {name} blackhole={what}")
        case "link_set" | "link_down" | "link_up" | "black_hole":
            raise UsageError(f"{verb}: cannot read {line!r}", f"`help {verb}` shows the accepted forms")
    raise UsageError(f"at: {verb!r} is unknown", "known: link_set, link_down, link_up, black_hole")


def _split(line: str) -> tuple[str, str]:
    """Splits a line into the link's name and the rest: `h1 s1 ...`, `h1-s1 ...`, `h1->s1 ...` or `h1-eth1 ...`."""
    first, _, rest = line.strip().partition(" ")
    if "-" in first:
        return first, rest.strip()
    second, _, rest = rest.strip().partition(" ")
    if not second or "=" in second:
        raise UsageError(f"link: cannot read {line.strip()!r}", "name both ends, for example h1 s1")
    return f"{first}-{second}", rest.strip()


def _state(interface: Intf) -> str:
    """Returns OK, DOWN or MISSING; Mininet's own function returns OK for every interface that exists."""
    return {None: "MISSING", True: "OK", False: "DOWN"}[has_carrier(interface)]


def _in_force(link: Link) -> str:
    """Describes a link's present properties, of each direction if they differ."""
    if not isinstance(link, EmulatedLink):
        return "not emulated"
    directions = link.stats()["directions"]
    there, back = (" ".join(_properties(directions[way]["spec"])) or "no limits" for way in DIRECTIONS)
    (a, _), (b, _) = events.ends_of(link)
    return f"{link.emulator}: {there}" if there == back else f"{link.emulator}: {a}->{b} {there}; {b}->{a} {back}"


def _print_event(event: LinkEvent, seen_s: float | None) -> None:
    result = "did not happen" if seen_s is None else f"after {seen_s:.3f} s"
    output(f"\n*** event {event}: {result}\n")


def _report(link: EmulatedLink) -> Iterator[str]:
    yield f"{link.name} ({link.emulator})"
    directions = link.stats()["directions"]
    (a, _), (b, _) = events.ends_of(link)
    for way, (source, target) in zip(DIRECTIONS, ((a, b), (b, a)), strict=True):
        counters = directions[way]
        yield f"  {source}->{target}: {' '.join(_properties(counters['spec'])) or 'no limits'}"
        drops = " ".join(f"{cause}={number}" for cause, number in counters["drops"].items() if number)
        yield (
            f"    in {counters['in_packets']} packets {counters['in_bytes']} bytes, "
            f"out {counters['out_packets']} packets {counters['out_bytes']} bytes, "
            f"queued {counters['queued_packets']}, dropped {drops or 0}"
        )


def _properties(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yields the properties that the emulator reports, except those without an effect."""
    for key, value in spec.items():
        if not value or value == _NO_EFFECT.get(key) or key == "max_frame_bytes":
            continue
        unit = next((unit for unit in _FORMATS if key.endswith(unit)), "")
        yield f"{key.removesuffix(unit)}={_FORMATS[unit](value) if unit else value}"
