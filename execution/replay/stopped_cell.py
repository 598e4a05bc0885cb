"""A cell of a stored run that is measured again, with a clock that can be stopped at any moment."""

import contextlib
import shlex
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from execution.guest_executors import UML_MEMORY_MIB, UmlExecutor, cell_request, seed_of
from execution.guest_side import measure_cell
from execution.guests.calling import GuestCall, called
from execution.guests.guest import STATUS
from execution.uml import kernel
from execution.uml.clock_controller import GuestClock, Stops
from execution.uml.copies import GuestCopy, Looked
from execution.uml.uml import UmlGuest, UserModeLinux
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.calls import ANSWER, REQUEST
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from results.records import Cell, CellResult

ROOT = "sh"
"""Word for the namespace of the switches and of the links' inner interfaces, as in `mn`."""

REQUEST_IN_GUEST = f"{UmlGuest.shared_in_guest}/{REQUEST}"
"""File in the guest with the request for the cell."""

_POLL_S = 0.1
_NODES = """\
for process in /proc/[0-9]*; do
    case "$(tr '\\0' ' ' < "$process/cmdline" 2> /dev/null)" in
    */namespaces\\ *) echo "${process#/proc/} $(cat "$process/comm")" ;;
    esac
done
"""
_KEEPER = "namespaces"


class Running(NamedTuple):
    """The clock of the guest that is the cell now: the one that was started, or a copy of it."""

    clock: GuestClock
    pace: Stops


class StoppedCell:
    """A cell that is being measured, whose clock stands still between calls of `go_until`.

    Attributes:
        now_ns: time at which the clock stands still, in ns since the start of the guest's kernel.
        is_another_run: it was changed, so from there on it is another run.
    """

    def __init__(self, guest: UmlGuest, call: GuestCall[CellResult], pace: Stops) -> None:
        self._guest, self._call, self._running = guest, call, Running(guest.clock, pace)
        self._copy: GuestCopy | None = None
        self._nodes: dict[str, str] = {}
        self._result: CellResult | None = None
        self.now_ns, self.is_another_run = 0, False

    def go_until(self, time_ns: int) -> bool:
        """Lets the clock go on to a time, and waits; returns False if the cell has ended before.

        Raises:
            FlightpathError: the cell cannot be measured.
        """
        self.forget_look()
        self.now_ns = time_ns
        self._running.pace.go_until(time_ns)
        while not self._running.pace.reached.wait(_POLL_S):
            if self._has_ended():
                return False
        return True

    def next_ns(self) -> int:
        """Returns the time just after the kernel's next event, of any kind: until then nothing happens."""
        return max(self.now_ns, self._running.clock.wanted_ns) + 1

    def stop(self) -> bool:
        """Stops the clock where it is, after `go_until` or `result` was interrupted; returns False if it has ended."""
        self.forget_look()
        if self._running.pace.reached.is_set():
            return True
        is_stopped = self.go_until(0)
        self.now_ns = self._running.clock.wanted_ns
        return is_stopped

    def result(self) -> CellResult:
        """Lets the cell go on to its end, and returns what was measured."""
        self.forget_look()
        self._running.pace.go_until()
        while not self._has_ended():
            self._running.pace.reached.wait(_POLL_S)
        assert self._result is not None
        return self._result

    def look(self, node: str, command: str, stdin: str = "/dev/null") -> Looked:
        """Runs a command in a node, or in `ROOT`, of a copy: the cell itself does not notice.

        Args:
            stdin: file for its standard input, as the guest sees it outside of the cell's namespaces.
        """
        nodes = self.nodes()
        if node not in nodes:
            raise UsageError(f"there is no host {node!r}", did_you_mean(node, nodes))
        self.forget_look()  # what ran before may have waited, and let time pass in that copy
        in_node = shlex.join(["unshare", "--mount", "sh", "-c", f"mount -t sysfs sysfs /sys\n{command}"])
        return self.copied().run(f"exec nsenter --target={nodes[node]} --net --mount -- {in_node} < {stdin}\n")

    def nodes(self) -> dict[str, str]:
        """Returns the process that holds the namespaces of each node, by the node's name."""
        if not self._nodes:
            lines = [line.split(" ", 1) for line in self.copied().run(_NODES).output.splitlines()]
            self._nodes = {ROOT if name == _KEEPER else name: process for process, name in lines}
        return self._nodes

    def copied(self) -> GuestCopy:
        """Returns the copy of this moment."""
        if self._copy is None:
            with _uninterrupted():
                self._copy = GuestCopy(self._guest.shared, self._guest.clock, self._running)
        return self._copy

    def forget_look(self) -> None:
        """Ends the copy of this moment."""
        if self._copy is not None:
            self._copy.close()
            for name in (ANSWER, STATUS):  # a copy that ran ahead may have measured the cell to its end
                (self._guest.shared / name).unlink(missing_ok=True)
        self._copy = None

    def keep_copy(self) -> None:
        """Takes the copy of this moment, which was changed, for the cell from now on."""
        copy, self._copy = self.copied(), None
        copy.become_original(self.now_ns)
        self._running, self.is_another_run = Running(copy.clock, copy.pace), True

    def _has_ended(self) -> bool:
        self._result = self._result or self._call.answer()
        return self._result is not None


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Lets Ctrl-C wait: a copy that nobody waited for would be taken for the next one."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


@contextlib.contextmanager
def stopped_cell(scenario: Scenario, plan: Plan, cell: Cell) -> Iterator[StoppedCell]:
    """Measures a cell as its run did, with a clock that can stand still."""
    pace = Stops()
    pace.go_until(0)
    with tempfile.TemporaryDirectory(prefix="flightpath-replay-") as folder:
        machine = UserModeLinux(
            kernel.find(),
            memory_mib=UML_MEMORY_MIB,
            writable=Path(folder),
            writable_at=UmlExecutor.artifacts_at,
            seed=seed_of(plan, cell),
            pace=pace,
        )
        request = cell_request(scenario, plan, cell, UmlExecutor.artifacts_at)
        with called(machine.guest, measure_cell, request) as call:
            guest = call.guest
            assert isinstance(guest, UmlGuest)
            stopped = StoppedCell(guest, call, pace)
            try:
                yield stopped
            finally:
                stopped.forget_look()
