"""Measurements between many sites: every pair, and never two in parallel that share an end."""

import contextlib
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from flightpath.commands import end, require
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability
from flightpath.launcher import python_module
from probes.preflight.measure.run_in_host import run_command
from probes.preflight.records import PreflightResult
from probes.preflight.spec import TransferSpec

HERE = "localhost"
"""A site that is this machine; it is reached without SSH."""

_LIMIT_S = 24 * 3600.0
_CLEAN_UP_S = 10.0

# The probe ends when this end closes its stdin, however that happens; what SSH leaves running would go on measuring.
_REMOTE = """\
exec 3<&0; {command} & probe=$!
{{ cat <&3; kill "$probe"; }} >/dev/null 2>&1 & watch=$!
wait "$probe"; code=$?; kill "$watch" 2>/dev/null; exit "$code"\
"""


class Pair(NamedTuple):
    """Two sites, as SSH knows them: the probe runs on the first, and measures the path to the second."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """Name under which its measurements are stored."""
        return "/".join(each.rpartition("@")[2] for each in self)


class Site:
    """A `flightpath.hosts.Host` on which SSH starts probes: `popen` takes their options.

    Args:
        name: `[USER@]HOST`, or `localhost` for this machine.
        command: shell command that starts `preflight` there.
        ssh_config: configuration file instead of the user's.
    """

    def __init__(self, name: str, command: str, ssh_config: Path | None = None) -> None:
        self.name, self._command, self._ssh_config = name, command, ssh_config
        self._stack = contextlib.ExitStack()

    def popen(self, argv: Sequence[str], **kwargs: Any) -> subprocess.Popen[Any]:
        """Starts a probe there, which gets no input."""
        if self.name == HERE:
            argv = python_module("probes.preflight", *argv)
            process = subprocess.Popen(argv, start_new_session=True, **kwargs)
        else:
            process = self._over_ssh(argv, kwargs)
        self._stack.callback(end, process, grace_s=_CLEAN_UP_S)
        return process

    def _over_ssh(self, argv: Sequence[str], kwargs: dict[str, Any]) -> subprocess.Popen[Any]:
        configuration = ["-F", str(self._ssh_config)] if self._ssh_config else []
        script = shlex.join(["sh", "-c", _REMOTE.format(command=f"{self._command} {shlex.join(argv)}")])
        ssh = [require("ssh"), *configuration, "-o", "BatchMode=yes", "--", self.name, script]
        stdin, held = os.pipe()
        self._stack.callback(os.close, held)
        try:
            return subprocess.Popen(ssh, start_new_session=True, **{**kwargs, "stdin": stdin})
        finally:
            os.close(stdin)

    def end(self) -> None:
        self._stack.close()


def measure_pairs(
    pairs: Sequence[Pair], spec: TransferSpec, *, command: str, ssh_config: Path | None, at_once: int
) -> Iterator[tuple[Pair, PreflightResult | FlightpathError]]:
    """Measures each pair, in parallel where no end is shared. Closing the generator ends what still runs.

    Args:
        command: command that starts `preflight` on the first site of each pair.
    """
    sites = {pair.source: Site(pair.source, command, ssh_config) for pair in pairs}

    def measure(pair: Pair) -> PreflightResult | FlightpathError:
        try:
            return run_command(sites[pair.source], (), pair.target, spec, timeout_s=_LIMIT_S)
        except MeasurementFailed as error:
            return _explained(error, pair, command)
        except FlightpathError as error:
            return error

    def end_all() -> None:
        for site in sites.values():
            site.end()

    try:
        yield from in_turn(pairs, measure, at_once, end_all)
    finally:
        end_all()


def in_turn(
    pairs: Sequence[Pair],
    measure: Callable[[Pair], PreflightResult | FlightpathError],
    at_once: int,
    stop: Callable[[], object] = lambda: None,
) -> Iterator[tuple[Pair, PreflightResult | FlightpathError]]:
    """Calls a function for each pair, in threads, never at the same time for two that share an end.

    Args:
        at_once: maximum number of parallel calls.
        stop: makes running calls end, if the generator is closed early.
    """
    waiting, running = list(pairs), dict[Future[PreflightResult | FlightpathError], Pair]()
    with ThreadPoolExecutor(max_workers=max(1, len(waiting))) as pool:
        try:
            while waiting or running:
                for pair in list(waiting):
                    busy = {site for each in running.values() for site in each}
                    if len(running) < at_once and not busy & set(pair):
                        waiting.remove(pair)
                        running[pool.submit(measure, pair)] = pair
                ended = wait(running, return_when=FIRST_COMPLETED).done
                for future in [each for each in running if each in ended]:  # a set: by addresses
                    yield running.pop(future), future.result()
        except BaseException:
            stop()
            raise


def _explained(error: MeasurementFailed, pair: Pair, command: str) -> FlightpathError:
    program = command.split()[0]
    if f"{program}: not found" not in str(error):
        return error
    hint = f"set Flightpath up there, or say what starts it: --command '~/flightpath/.venv/bin/{program}'"
    return MissingCapability(f"{pair.source} has no command {program!r}", hint)
