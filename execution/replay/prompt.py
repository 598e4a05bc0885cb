"""The prompt of a replay: commands that look at a cell whose clock stands still, and move the clock."""

import cmd
import json
import shlex
import sys
from collections.abc import Sequence

from execution.replay import inside
from execution.replay.inside import State
from execution.replay.stopped_cell import REQUEST_IN_GUEST, ROOT, StoppedCell
from experiments.fidelity.watch import LOAD_BEGAN
from flightpath.errors import FlightpathError, UsageError
from flightpath.launcher import python_module
from flightpath.overrides import override
from flightpath.suggestions import did_you_mean
from flightpath.units import parse_duration
from results.records import CellResult
from topologies.links.conditions import is_moment

_INSIDE = inside.__name__
_COARSE_NS, _FINE_NS = 1_000_000, 10_000
_MAX_MISSES, _MAX_EVENTS = 100, 1000
_CARRIED = "sed -n 's/^ *nl//p' /proc/net/dev"
_NEVER_NS = 2**63 - 1
_HELP = """\
look, unnoticed by the cell (in a copy of the kernel):
  h1 ss -tin          run a program in a host; with `sh` beside switches, links
  connections         every TCP connection: window, round trip, state
  links               each link's queue, drops and packets under way
  hosts               the names of hosts and switches
go on:
  step 1ms            go on for so long
  step packet         go on until a packet moves on a link, or in it
  until 3.5s          go on to a moment, counted from the start of load
  until EVENT         retransmission; subflow joined; link down; link up;
                      queue s1-s2 > 90%
  continue            go on to the end, and compare with the stored figures
  Ctrl-C              stop the clock again, wherever it is
  set h1-s1 loss=1%   change a link, as in events: then it is another run
  quit                end here
"""
_INTRO = "`help` explains the commands; looking costs no virtual time"


class Prompt(cmd.Cmd):
    """Runs commands; see `help`.

    Attributes:
        result: result of the cell, once it has ended.
    """

    def __init__(self, cell: StoppedCell, stored: CellResult) -> None:
        super().__init__()
        found = stored.certificate.found
        self._cell, self._load_began_ns = cell, int(found[LOAD_BEGAN])
        self._load_ended_ns = self._load_began_ns + round(found["load_s"] * 1e9)
        self._changes: list[str] = []
        self.result: CellResult | None = None

    def start(self, when: str) -> None:
        """Goes on to a moment, or to the start of the load and from there to an event."""
        if not is_moment(when):
            self._go_until(self._load_began_ns)
        self.do_until(when)

    def run_all(self, lines: Sequence[str]) -> None:
        """Runs commands one after the other, until one of them ends the replay."""
        for line in lines:
            if self.result is None:
                if self.onecmd(line) and self.result is None:
                    return
            elif line != "continue":
                raise UsageError(f"the cell has ended before {line!r} could run", "choose an earlier moment")

    @override
    def cmdloop(self, intro: str | None = _INTRO) -> None:
        while self.result is None:
            try:
                super().cmdloop(intro)
            except FlightpathError as error:
                print(error, file=sys.stderr)
            except KeyboardInterrupt:
                print(file=sys.stderr)
                if self._cell.stop():
                    self._say_where()
                else:
                    self.do_continue("")
            else:
                return
            intro = ""

    @override
    def emptyline(self) -> bool:
        return False

    @override
    def default(self, line: str) -> bool:  # type: ignore[override]  # cmd stops if it is true
        if line == "EOF":
            print()  # the shell's own prompt follows
            return True
        node, _, command = line.partition(" ")
        if node in ("tc", "ip", "ss", "ovs-ofctl", "ovs-vsctl"):
            node, command = ROOT, line
        if node not in (nodes := self._cell.nodes()):
            known = [*nodes, *(name.removeprefix("do_") for name in self.get_names() if "do_" in name)]
            raise UsageError(f"there is no command and no host {node!r}", did_you_mean(node, known))
        if not command:
            raise UsageError(f"{node}: which program shall run there?", f"for example: {node} ss -tin")
        looked = self._cell.look(node, command)
        print(looked.output, end="")
        if looked.code:
            print(f"exit code {looked.code}", file=sys.stderr)
        return False

    @override
    def do_help(self, arg: str) -> None:
        print(_HELP, end="")

    def do_hosts(self, _: str) -> None:
        """Prints the names of hosts and switches."""
        print(" ".join(sorted(self._cell.nodes())))

    def do_connections(self, _: str) -> None:
        """Prints the connections of each host."""
        for node in sorted(self._cell.nodes()):
            if output := self._cell.look(node, "ss -Htin").output:
                print(f"{node}:\n{output}", end="")

    def do_links(self, _: str) -> None:
        """Prints the queue of each link."""
        print(self._inside("links"), end="")

    def do_step(self, text: str) -> bool:
        """Goes on for a time, or to a packet."""
        if text == "packet":
            return self._step_packet()
        return self._go_until(self._cell.now_ns + round(parse_duration(text, "step") * 1e9))

    def do_until(self, text: str) -> bool:
        """Goes on to a moment or an event."""
        if not is_moment(text):
            return self._go_until_event(text)
        time_ns = self._load_began_ns + round(parse_duration(text, "until") * 1e9)
        if time_ns < self._cell.now_ns:
            raise UsageError(f"until: {text} is over: it is {self._now()}", "replay it again with --at")
        return self._go_until(time_ns)

    def do_continue(self, _: str) -> bool:
        """Goes on to the end."""
        self.result = self._cell.result()
        return True

    def do_quit(self, _: str) -> bool:
        """Ends the replay."""
        return True

    def do_set(self, text: str) -> None:
        """Changes a link."""
        self._inside("set", text)
        self._changes.append(f"{self._now_s():.9f}s {text}")
        self._cell.keep_copy()
        print("from here on it is another run: its figures need not be the stored ones")

    def _now_s(self) -> float:
        return (self._cell.now_ns - self._load_began_ns) / 1e9

    def _now(self) -> str:
        return f"{self._now_s():.9f} s"

    def _step_packet(self) -> bool:
        """Goes from one event of the kernel to the next, until one of them has moved a packet."""
        before = self._carried()
        for _ in range(_MAX_EVENTS):
            if not self._cell.go_until(self._cell.next_ns()):
                return self._end()
            if self._carried() != before:
                self._say_where()
                return False
        raise FlightpathError(f"no packet has moved in {_MAX_EVENTS} events; it is now {self._now()}")

    def _carried(self) -> str:
        """Returns the counters of packets of all interfaces between links' ends."""
        return self._cell.look(ROOT, _CARRIED).output

    def _end(self) -> bool:
        print("the cell ended before that moment", file=sys.stderr)
        return self.do_continue("")

    def _go_until(self, time_ns: int) -> bool:
        """Goes on to a time, and says where it is; returns whether the cell has ended."""
        if not self._cell.go_until(time_ns):
            return self._end()
        self._say_where()
        return False

    def _say_where(self) -> None:
        self.prompt = f"{self._now()}> "
        print(f"the clock stands still at {self._now()}", file=sys.stderr)

    def _go_until_event(self, event: str) -> bool:
        """Goes on to an event: a copy runs ahead to find it, first with a long period and then with a short one."""
        began = self._inside("read", event).strip()
        found_ns = self._find(event, began, _COARSE_NS)
        self._cell.go_until(max(self._cell.now_ns, found_ns - 2 * _COARSE_NS))
        found_ns = self._find(event, began, _FINE_NS)
        for _ in range(_MAX_MISSES):  # a copy in which a program runs may be some us ahead
            self._cell.go_until(max(self._cell.now_ns, found_ns))
            if self._inside("is", event, began).strip() == "yes":
                self._say_where()
                return False
            found_ns += _FINE_NS
        self._say_where()
        raise FlightpathError(f"{event!r} was over before the clock could be stopped")

    def _find(self, event: str, began: str, period_ns: int) -> int:
        """Returns when an event happens, in a copy that looks so often and ends with that."""
        try:
            return int(self._inside("find", event, began, str(period_ns), str(self._end_ns())))
        except UsageError:
            raise
        except FlightpathError as error:  # the copy has come to the end of the load, or of the cell
            raise UsageError(f"no {event!r} before the end of the load", f"it is still {self._now()}") from error
        finally:
            self._cell.forget_look()

    def _end_ns(self) -> int:
        """Returns when the load ends: afterwards the network is taken down. Of another run, or later, nobody knows."""
        is_known = not self._cell.is_another_run and self._cell.now_ns < self._load_ended_ns
        return self._load_ended_ns if is_known else _NEVER_NS

    def _inside(self, *words: str) -> str:
        """Runs a command of our own in the copy, where the switches and links are."""
        state = json.dumps(State(self._cell.nodes(), self._load_began_ns, self._changes))
        looked = self._cell.look(ROOT, shlex.join(python_module(_INSIDE, state, *words)), REQUEST_IN_GUEST)
        if looked.code == UsageError.exit_code:
            raise UsageError(looked.output.strip())
        if looked.code:
            raise FlightpathError(looked.output.strip())
        return looked.output
