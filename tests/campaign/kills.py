"""The kill storm: `kill -9` of a random process of a program's own tree at a random moment, again and again.

After each: all its processes end, nothing is left on the machine, what it kept is whole, and it says what happened in a
sentence. Two programs are under fire at a time.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path

from flightpath.processes import Process, descendants
from flightpath.project import PROJECT
from scenarios.framework.placement import has_lab
from tests.campaign.machine_state import MachineState, marked_environment, shown
from tests.campaign.outcome import Outcome
from tests.campaign.victims import Dashboard, Ended, MininetCommand, Preflight, ScenarioRuns, Victim
from tests.support.ssh_far_end import FarEnd, far_end

AT_ONCE = 2
_STOP = threading.Event()
"""Set when the campaign ends, if it is interrupted too."""

_LIMIT_S = 180
"""A program whose process was killed ends after this time at the latest: what it measures takes less."""

_LOAD = ["--threads", "20", "--loads", "400", "--repeat", "1"]
_TUNNEL = ["--only", "transport=weighted", "--only", "transport=redundant", "--only", "paths=loss", "--seconds", "1"]


def run(short: bool) -> Iterator[Outcome]:
    """330 kills; 15 in the short form."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flightpath-campaign-")))
        end = stack.enter_context(far_end())
        storms = list(_storms(folder, end, 20 if short else 1))
        pool = ThreadPoolExecutor(AT_ONCE)
        stack.callback(pool.shutdown, cancel_futures=True)
        stack.callback(_STOP.set)
        for storm in storms:
            storm.folder.mkdir()
        for ended in as_completed([pool.submit(storm.rage) for storm in storms]):
            yield ended.result()


def _storms(folder: Path, end: FarEnd, divisor: int) -> Iterator["Storm"]:
    def storm(kills: int, make: Callable[[Path], Victim], name: str) -> Storm:
        return Storm(folder / name, make, kills // divisor)

    real, virtual = ["--clock", "real", "--scale", "1"], ["--clock", "virtual"]
    yield storm(80, lambda at: ScenarioRuns(at, "mptcp_load", [*_LOAD, *real], cells=2, cell_s=6), "load")
    yield storm(50, lambda at: Preflight(at, end), "preflight")
    tunnel = [*_TUNNEL, "--repeat", "1", "--clock", "real"]
    yield storm(60, lambda at: ScenarioRuns(at, "multipath_unequal", tunnel, cells=2, cell_s=6), "tunnel")
    yield storm(50, MininetCommand, "mn")
    yield storm(30, Dashboard, "dashboard")
    if has_lab():
        yield storm(60, lambda at: ScenarioRuns(at, "mptcp_load", [*_LOAD, *virtual], cells=2, cell_s=8), "lab")


class Storm:
    """The kills of one program."""

    def __init__(self, folder: Path, make: Callable[[Path], Victim], kills: int) -> None:
        self.folder, self._make, self._kills = folder, make, kills

    def rage(self) -> Outcome:
        """Kills as often as planned."""
        victim, seed = self._make(self.folder), random.SystemRandom().randrange(2**32)
        chance, found = random.Random(seed), []
        for number in range(self._kills):
            if _STOP.is_set():
                break
            found += [f"kill {number} of seed {seed}: {fault}" for fault in self._once(victim, chance)]
            print(f"{victim.name}: {number + 1} of {self._kills} kills", file=sys.stderr, flush=True)
        return Outcome(f"kills: {victim.name}", f"{self._kills} kills", victim.figures(), tuple(found))

    def _once(self, victim: Victim, chance: random.Random) -> list[str]:
        mark, environment = marked_environment()
        temporary = Path(tempfile.mkdtemp(dir=self.folder))
        before = MachineState.read()
        with (self.folder / "said").open("w+", errors="replace") as said:
            process = subprocess.Popen(
                victim.argv(),
                cwd=PROJECT,
                env={**environment, "TMPDIR": str(temporary)},
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                _type(process, victim.keyboard)
                _wait(process, chance.uniform(0, victim.typical_s), victim.read)
                family, killed = _kill_one(process.pid, chance)
                late = _ended_late(process, victim)
            finally:
                process.kill()
                process.wait()
            said.seek(0)
            ended = Ended(process.returncode, said.read(), killed is not None and killed[0].pid == process.pid)
        found = [*late, *before.faults(mark, family), *victim.faults_after(ended)]
        found += [f"left in TMPDIR: {path.name}" for path in temporary.iterdir()]
        who = killed[1] if killed else "nobody, it had ended"
        return [f"killed {who}: {fault}" for fault in found]


def _type(process: subprocess.Popen, keyboard: str) -> None:
    process.stdin.write(keyboard.encode())  # fits into a pipe
    process.stdin.flush()


def _wait(process: subprocess.Popen, seconds: float, read: Callable[[], None]) -> None:
    """Waits for so long, or until the program ends, or the campaign is interrupted."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and not _STOP.is_set() and (left := deadline - time.monotonic()) > 0:
        read()
        time.sleep(min(0.1, left))


def _kill_one(root: int, chance: random.Random) -> tuple[list[Process], tuple[Process, str] | None]:
    """The program's processes before, and the one that was killed; None if there was none."""
    family = descendants(root)
    if not family:
        return [], None
    chosen = chance.choice(family)
    name = shown(chosen)
    try:
        os.kill(chosen.pid, signal.SIGKILL)
    except ProcessLookupError:
        return family, None
    return family, (chosen, name)


def _ended_late(process: subprocess.Popen, victim: Victim) -> list[str]:
    """Waits for the end; one that waits for its user is told to end."""
    if victim.waits_for_user:
        process.stdin.close()
        _wait(process, 1, victim.read)
        process.terminate()
    _wait(process, _LIMIT_S, victim.read)
    return [f"did not end within {_LIMIT_S} s"] if process.poll() is None and not _STOP.is_set() else []
