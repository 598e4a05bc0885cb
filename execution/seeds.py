"""A command with many seeds: which fail, how, and whether a seed does the same each time."""

import itertools
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from execution.uml.uml import UserModeLinux
from flightpath.errors import MeasurementFailed
from flightpath.progress import LiveLine, minutes_and_seconds
from flightpath.units import counted

_MOST_NAMED = 8
_LONGEST_LINE = 160
_TELLING = re.compile(r"not ok|fail|error|panic|assert|timed? ?out|\bbad\b|differ", re.IGNORECASE)
_VARYING = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?")


@dataclass(frozen=True)
class Outcome:
    """What a command did with one seed.

    Attributes:
        seed: the seed.
        exit_code: of the command; None: it did not come to its end.
        output: what it printed, first to stdout and then to stderr.
        failure: what went wrong in one line; empty: nothing.
        virtual_s: how long it took on the guest's clock.
    """

    seed: int
    exit_code: int | None
    output: bytes
    failure: str
    virtual_s: float


@dataclass(frozen=True)
class SeedSearch:
    """Runs of a command that differ in their seed; what they write in files vanishes.

    Attributes:
        machine: guest for each run.
        argv: the command.
        stdin: file with its standard input.
        time_limit_s: of a run, on this machine's clock.
        kept: folder in which the output of each failed run is kept, as `seed-N.log`; None: nowhere.
    """

    machine: UserModeLinux
    argv: Sequence[str]
    stdin: Path
    time_limit_s: float
    kept: Path | None = None

    def run(self, seeds: range, jobs: int, *, twice: bool = False) -> list[Outcome]:
        """Runs the command once with each seed, or twice: then it also fails if both runs differ.

        Args:
            seeds: the seeds.
            jobs: how many runs at once.
            twice: whether to run twice.
        """
        began_s, outcomes, stopped = time.monotonic(), list[Outcome](), threading.Event()
        measure = self._compared if twice else self._once
        with ThreadPoolExecutor(jobs) as pool, LiveLine() as line:
            line.show(f"virtual: {counted(len(seeds), 'seed')}, {jobs} at once")
            todo = iter(seeds)
            running = {pool.submit(measure, seed, stopped) for seed in itertools.islice(todo, jobs)}
            try:
                while running:
                    done = next(as_completed(running))
                    running.remove(done)
                    outcomes.append(done.result())
                    running |= {pool.submit(measure, seed, stopped) for seed in itertools.islice(todo, 1)}
                    line.show(_progress(outcomes, len(seeds), time.monotonic() - began_s))
            finally:
                stopped.set()
        return sorted(outcomes, key=lambda outcome: outcome.seed)

    def _once(self, seed: int, stopped: threading.Event) -> Outcome:
        guest = replace(self.machine, seed=seed).guest(self.argv)
        (guest.shared / "stdin").write_bytes(self.stdin.read_bytes())
        with guest:
            try:
                code, failure = guest.ended(self.time_limit_s, lambda: _go_on(stopped)), ""
            except MeasurementFailed as error:
                code, failure = None, str(error).partition("\n")[0]
            output = b"".join(_content(guest.shared / name) for name in ("stdout", "stderr"))
        failure = failure or (f"exit code {code}: {_telling_line(output)}" if code else "")
        outcome = Outcome(seed, code, output, failure, guest.command_s)
        self._keep(outcome)
        return outcome

    def _compared(self, seed: int, stopped: threading.Event) -> Outcome:
        first, second = (self._once(seed, stopped) for _ in range(2))
        if (first.exit_code, first.output) == (second.exit_code, second.output):
            return first
        return replace(first, failure=f"two runs differ, first in: {_first_difference(first.output, second.output)}")

    def _keep(self, outcome: Outcome) -> None:
        if self.kept is not None and outcome.failure:
            (self.kept / f"seed-{outcome.seed}.log").write_bytes(outcome.output)


def _go_on(stopped: threading.Event) -> None:
    if stopped.is_set():
        raise MeasurementFailed("interrupted")


def summary(outcomes: Sequence[Outcome], again: Callable[[int], str]) -> str:
    """Returns which seeds failed, grouped by what went wrong, each with the command that repeats it.

    Args:
        outcomes: of all seeds.
        again: returns the command for a seed.
    """
    failed = [outcome for outcome in outcomes if outcome.failure]
    virtual_s = sum(outcome.virtual_s for outcome in outcomes)
    lines = [
        f"{counted(len(outcomes), 'seed')}: {len(outcomes) - len(failed)} passed, {len(failed)} failed "
        f"({minutes_and_seconds(virtual_s)} of virtual time)"
    ]
    for group in _groups(failed):
        seeds = [str(outcome.seed) for outcome in group]
        more = f" and {len(seeds) - _MOST_NAMED} more" if len(seeds) > _MOST_NAMED else ""
        lines += [
            "",
            f"{len(group)} x {group[0].failure}",
            f"    {'seeds' if len(seeds) > 1 else 'seed'} {', '.join(seeds[:_MOST_NAMED])}{more}",
            f"    again: {again(group[0].seed)}",
        ]
    return "\n".join(lines)


def _groups(failed: Sequence[Outcome]) -> list[list[Outcome]]:
    """Groups failures that differ in numbers only, the most frequent first."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in failed:
        groups[_VARYING.sub("#", outcome.failure)].append(outcome)
    return sorted(groups.values(), key=len, reverse=True)


def _progress(outcomes: Sequence[Outcome], total: int, took_s: float) -> str:
    failed, done = sum(bool(outcome.failure) for outcome in outcomes), len(outcomes)
    left = minutes_and_seconds(took_s * (total - done) / done)
    return f"virtual: {done} of {total} seeds, {failed} failed, {left} left"


def _telling_line(output: bytes) -> str:
    """Returns the last line that speaks of a failure, or the last one at all."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    return (telling or lines or ["no output"])[-1][:_LONGEST_LINE]


def _first_difference(first: bytes, second: bytes) -> str:
    lines, others = (output.decode(errors="replace").splitlines() for output in (first, second))
    pairs = itertools.zip_longest(lines, others, fillvalue="(nothing)")
    one, other = next(((one, other) for one, other in pairs if one != other), ("the same output", "another exit code"))
    return f"{one[:_LONGEST_LINE]!r} and {other[:_LONGEST_LINE]!r}"


def _content(file: Path) -> bytes:
    with suppress(FileNotFoundError):
        return file.read_bytes()
    return b""
