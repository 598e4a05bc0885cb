"""A measurement as the command makes it: with a live line, questions on a terminal, and kept in the memory."""

import getpass
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flightpath.errors import FlightpathError, UsageError
from probes.preflight.commands.live import LiveLine
from probes.preflight.measure.environment import environment
from probes.preflight.measure.measure import measure
from probes.preflight.memory.memory import Recording
from probes.preflight.records import IterationResult, PreflightResult
from probes.preflight.spec import Family, TransferSpec
from probes.preflight.ssh.session import Access
from probes.preflight.ssh.target import Resolved, Target
from results.records import RunStatus
from results.store.location import StoreLocation
from results.store.store import Store

_FAMILIES = {"inet": Family.IPV4, "inet6": Family.IPV6}


class Remembering:
    """Keeps a measurement while it is made: iterations that ended are kept even if a later one fails.

    Args:
        place: of the memory; None keeps nothing.
        target, spec: what is measured.
        command: the argument list that repeats it.

    Attributes:
        run_id: under which it is kept; None if nothing was.
    """

    def __init__(
        self, place: Path | StoreLocation | None, target: Target, spec: TransferSpec, command: Sequence[str] | None
    ) -> None:
        self._place, self._target, self._spec, self._command = place, target, spec, command
        self._recording: Recording | None = None
        if place is not None:
            Store.open(place)  # an unusable memory is told before the transfer, not after it

    @property
    def run_id(self) -> str | None:
        """Under which it is kept."""
        return self._recording.run_id if self._recording else None

    def add(self, iteration: IterationResult) -> None:
        """Keeps an iteration; nothing is recorded before the first has ended."""
        if self._place is None:
            return
        if self._recording is None:
            self._recording = Recording.begin(
                self._place,
                self._target,
                self._spec,
                environment=environment(),
                command=self._command,
                started_at=iteration.started_at,
            )
        self._recording.add(iteration)

    def finish(self, result: PreflightResult) -> None:
        """Keeps the whole."""
        if self._recording is not None:
            self._recording.finish(result)

    def give_up(self, error: BaseException) -> None:
        """The rest does not come."""
        if self._recording is not None:
            failed = isinstance(error, Exception)
            self._recording.give_up(RunStatus.FAILED if failed else RunStatus.INTERRUPTED)


def measure_and_remember(
    resolved: Resolved,
    spec: TransferSpec,
    place: Path | StoreLocation | None,
    *,
    accept_new_host_key: bool = False,
    batch: bool = False,
    command: Sequence[str] | None = None,
) -> tuple[PreflightResult, str | None]:
    """Measures with a live line on stderr; returns the measurement and the id under which it is kept.

    Args:
        resolved: the far end.
        spec: what to transfer.
        place: of the memory; None keeps nothing.
        accept_new_host_key: a host of which nothing is known is accepted.
        batch: never ask for a passphrase or password; nobody is asked where stdin is no terminal, either.
        command: the argument list that repeats it; this process's by default.

    Raises:
        FlightpathError: it failed.
    """
    if spec.family is Family.ANY:
        spec = replace(spec, family=_FAMILIES.get(resolved.family, Family.ANY))
    remembering = Remembering(place, resolved.target, spec, command)
    with LiveLine(resolved.target.name) as live:

        def ask(what: str) -> str:
            live.pause()
            try:
                return getpass.getpass(f"{what}: ")
            except EOFError:
                raise UsageError(f"{what}: none was given") from None
            finally:
                live.resume()

        access = Access(
            accept_new_host_key=accept_new_host_key or resolved.accept_new,
            hash_names=resolved.hash_names,
            ask=None if batch or not sys.stdin.isatty() else ask,
        )
        try:
            result = measure(resolved.target, spec, access=access, tell=live.tell, keep=remembering.add)
        except BaseException as error:
            try:
                remembering.give_up(error)
            except FlightpathError as second:
                print(f"warning: {second}", file=sys.stderr)
            raise
    try:
        remembering.finish(result)
    except FlightpathError as error:  # what was measured is still worth telling
        print(f"warning: it is not remembered as a whole: {error}", file=sys.stderr)
    return result, remembering.run_id
