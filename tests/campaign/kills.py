"""The kill storm: `kill -9` of a random process of a program's own tree at a random moment, again and again.

After each: all its processes end, nothing is left on the machine, what it kept is whole, and it says what happened in a
sentence. Two programs are under fire at a time.
"""

import contextlib
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

from execution.placement import has_uml_kernel
from flightpath.processes import Process, descendants
from flightpath.project import PROJECT
from tests.campaign.outcome import Outcome
from tests.campaign.victims import Dashboard, Ended, MininetCommand, Preflight, ScenarioRuns, Victim
from tests.support.killed import killed_at_end
from tests.support.machine_state import MachineState, marked_environment
from tests.support.ssh_far_end import FarEnd, far_end

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
        pool = ThreadPoolExecutor(2)
        stack.callback(pool.shutdown, cancel_futures=True)
        stack.callback(_STOP.set)
        storms = [pool.submit(_run, make, kills // (20 if short else 1)) for kills, make in _storms(folder, end)]
        for ended in as_completed(storms):
            yield ended.result()


def _storms(folder: Path, end: FarEnd) -> Iterator[tuple[int, Callable[[], Victim]]]:
    """Number of kills, and a function that makes the victim, for each program."""

    def runs(name: str, scenario: str, words: list[str], cell_s: float) -> Callable[[], Victim]:
        return lambda: ScenarioRuns(folder / name, scenario, words, cells=2, cell_s=cell_s)

    yield 80, runs("load", "mptcp_load", [*_LOAD, "--clock", "real", "--scale", "1"], 6)
    yield 50, lambda: Preflight(folder / "preflight", end)
    yield 60, runs("tunnel", "multipath_unequal", [*_TUNNEL, "--repeat", "1", "--clock", "real"], 6)
    yield 50, lambda: MininetCommand(folder / "mn")
    yield 30, lambda: Dashboard(folder / "dashboard")
    if has_uml_kernel():
        yield 60, runs("uml", "mptcp_load", [*_LOAD, "--clock", "virtual"], 8)


def _run(make: Callable[[], Victim], kills: int) -> Outcome:
    victim, seed = make(), random.SystemRandom().randrange(2**32)
    chance, faults = random.Random(seed), []
    for number in range(kills):
        if _STOP.is_set():
            break
        faults += [f"kill {number} of seed {seed}: {fault}" for fault in _kill_once(victim, chance)]
        print(f"{victim.name}: {number + 1} of {kills} kills", file=sys.stderr, flush=True)
    return Outcome(f"kills: {victim.name}", f"{kills} kills", victim.figures(), faults)


def _kill_once(victim: Victim, chance: random.Random) -> list[str]:
    mark, environment = marked_environment()
    temporary = Path(tempfile.mkdtemp(dir=victim.folder))
    environment["TMPDIR"] = str(temporary)
    before = MachineState.read()
    with (victim.folder / "output").open("w+", errors="replace") as output:
        streams = {"stdin": subprocess.PIPE, "stdout": output, "stderr": subprocess.STDOUT}
        options = {"cwd": PROJECT, "env": environment, "start_new_session": True, **streams}
        with killed_at_end(subprocess.Popen(victim.argv(), **options)) as process:
            process.stdin.write(victim.keyboard.encode())  # fits into a pipe
            process.stdin.flush()
            _wait(process, chance.uniform(0, victim.typical_s), victim.read)
            family, killed, who = _kill_one(process.pid, chance)
            late = _ended_late(process, victim)
        output.seek(0)
        ended = Ended(process.returncode, output.read(), killed == process.pid)
    faults = [*late, *before.faults(mark, family), *victim.faults_after(ended)]
    faults += [f"left in TMPDIR: {path.name}" for path in temporary.iterdir()]
    return [f"killed {who}: {fault}" for fault in faults]


def _wait(process: subprocess.Popen, seconds: float, read: Callable[[], None]) -> None:
    """Waits for so long, or until the program ends, or the campaign is interrupted."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and not _STOP.is_set() and (left := deadline - time.monotonic()) > 0:
        read()
        time.sleep(min(0.1, left))


def _kill_one(root: int, chance: random.Random) -> tuple[list[Process], int, str]:
    """The program's processes before, and the one that was killed: its id (0 without one), and its command."""
    family = descendants(root)
    with contextlib.suppress(ProcessLookupError):
        if family:
            chosen = chance.choice(family)
            name = chosen.command_line[:80]
            os.kill(chosen.pid, signal.SIGKILL)
            return family, chosen.pid, name
    return family, 0, "nobody, it had ended"


def _ended_late(process: subprocess.Popen, victim: Victim) -> list[str]:
    """Waits for the end; one that waits for its user is told to end."""
    if victim.waits_for_user:
        process.stdin.close()
        _wait(process, 1, victim.read)
        process.terminate()
    _wait(process, _LIMIT_S, victim.read)
    return [f"did not end within {_LIMIT_S} s"] if process.poll() is None and not _STOP.is_set() else []
