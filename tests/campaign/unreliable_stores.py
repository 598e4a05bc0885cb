"""Runs whose store fails under them: a disk that is full for a while, a database that restarts or cuts its connections.

No cell that was measured is lost, and none is there twice.
"""

import contextlib
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from flightpath.commands import require
from flightpath.project import PROJECT
from results.records import RunStatus
from results.store.backend import NoStore
from results.store.location import StoreLocation, server_url
from results.store.run_store import recover
from results.store.store import Store
from tests.campaign.apart import outcomes_apart, print_outcomes
from tests.campaign.outcome import Outcome
from tests.support.database_server import DatabaseServer, database_server, store_options

CELLS = 3
_TYPICAL_S = 18
_LIMIT_S = 240
_DISK_MIB = 16
_LOAD = ["--threads", "10", "--loads", "400", "--only", "protocol=tcp"]
_RUN = [*_LOAD, "--repeat", str(CELLS), "--clock", "real", "--scale", "1"]
_MEASURED = re.compile(r"^\[\d+/\d+\] .*: done", re.MULTILINE)


def run(short: bool) -> Iterator[Outcome]:
    """20 runs on a small disk, 20 with a database server, 5 that two processes resume; in the short form 1 of each."""
    # In mounts of its own, so that the small disk goes with the process.
    mounts = [require("unshare"), "--mount"]
    trials = (1, 1, 1) if short else (20, 20, 5)
    yield from outcomes_apart("stores", __name__, *trials, inside=mounts)


def main(on_a_full_disk: int, with_a_server: int, resumed_twice: int) -> Iterator[Outcome]:
    """All trials of a seed, which faults name."""
    seed = random.SystemRandom().randrange(2**32)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="flightpath-campaign-") as folder:
        small = Path(folder) / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_MIB}m", "tmpfs", small], check=True)
        try:
            name = "runs on a disk that is full for a while"
            yield _trials("disk", name, on_a_full_disk, lambda _: _full(small, chance))
        finally:
            subprocess.run(["umount", "--lazy", small], check=True)
        with database_server() as server:

            def place(name: object) -> StoreLocation:
                return StoreLocation(Path(folder) / f"server{name}", server_url(str(server.database())))

            name = "runs while the database restarts or cuts connections"
            yield _trials("database", name, with_a_server, lambda n: _harmed(place(n), server, chance))
            name = "runs that two processes resume at once"
            yield _trials("database", name, resumed_twice, lambda n: _resumed_twice(place(f"t{n}"), chance))


def _trials(name: str, what: str, count: int, trial: Callable[[int], list[str]]) -> Outcome:
    faults = [f"{number}: {fault}" for number in range(count) for fault in trial(number)]
    return Outcome(name, f"{count} {what}", f"{CELLS} cells each", tuple(faults))


def _full(folder: Path, chance: random.Random) -> list[str]:
    place, ballast = StoreLocation(folder / "runs"), folder / "ballast"
    begin_s, for_s = chance.uniform(1, _TYPICAL_S), chance.choice([1, 3, 10, _LIMIT_S])
    with _started(place) as process:
        _let_run(process, begin_s)
        subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=4k"], stderr=subprocess.DEVNULL, check=False)
        _let_run(process, for_s)
        ballast.unlink()
        faults = [f"full from {begin_s:.1f} s for {for_s} s: {fault}" for fault in _faults(process, place)]
    subprocess.run(["rm", "-rf", folder / "runs"], check=True)
    return faults


def _harmed(place: StoreLocation, server: DatabaseServer, chance: random.Random) -> list[str]:
    begin_s, down_s = chance.uniform(1, _TYPICAL_S), chance.choice([None, 0, 2, 8])
    with _started(place) as process:
        _let_run(process, begin_s)
        if down_s is None:
            server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        else:
            server.restart(down_s)
        how = "connections cut" if down_s is None else f"down for {down_s} s"
        return [f"{how} at {begin_s:.1f} s: {fault}" for fault in _faults(process, place)]


def _resumed_twice(place: StoreLocation, chance: random.Random) -> list[str]:
    with _started(place) as process:
        _let_run(process, chance.uniform(4, _TYPICAL_S / 2))
        process.kill()
    if not _newest(place):
        return []  # it was killed before it began
    with _started(place, "--resume", "latest") as first, _started(place, "--resume", "latest") as second:
        outputs = [process.communicate(timeout=_LIMIT_S)[0] for process in (first, second)]
        codes = sorted(process.returncode for process in (first, second))
    if codes not in ([0, 2], [2, 4]):
        return [f"exit codes {codes}: {' | '.join(each[-200:] for each in outputs)}"]
    return _missing(place, CELLS)


def _started(place: StoreLocation, *words: str) -> subprocess.Popen:
    argv = [sys.executable, "-m", "scenarios.mptcp_load", *store_options(place), *(words or _RUN)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(argv, cwd=PROJECT, stdin=subprocess.DEVNULL, **pipes)


def _let_run(process: subprocess.Popen, seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def _faults(process: subprocess.Popen, place: StoreLocation) -> list[str]:
    """Judges a run whose store works again: it has the cells that were reported as measured, and all in the end."""
    output = process.communicate(timeout=_LIMIT_S)[0]
    measured = len(_MEASURED.findall(output))
    if process.returncode == 3 and not measured:
        return []  # there was no store to begin with
    if "Traceback" in output or process.returncode not in (0, 1, 4):
        return [f"exit code {process.returncode}: …{output[-400:]}"]
    recover(place)
    if not (newest := _newest(place)):
        return ["the run is not in the store"] if measured else []
    faults = _missing(place, measured)
    if newest is not RunStatus.DONE:
        with _started(place, "--resume", "latest") as resumed:
            output = resumed.communicate(timeout=_LIMIT_S)[0]
        if resumed.returncode not in (0, 4):
            faults.append(f"resumed: exit code {resumed.returncode}: …{output[-400:]}")
    return faults + _missing(place, CELLS)


def _newest(place: StoreLocation) -> RunStatus | None:
    try:
        record = Store.open(place, create=False).latest()
    except NoStore:  # the disk was full already
        return None
    return record and record.status


def _missing(place: StoreLocation, expected: int) -> list[str]:
    cells = [result.cell for result in Store.open(place, create=False).cells("latest")]
    numbers = {cell.repetition for cell in cells}
    if len(numbers) < expected or len(numbers) != len(cells):
        return [f"{len(cells)} cells of which {len(numbers)} differ, and {expected} were measured"]
    return []


if __name__ == "__main__":
    sys.exit(print_outcomes(main(*map(int, sys.argv[1:]))))
