"""A command with many seeds: which fail, how, and whether a seed does the same each time."""

import itertools
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from execution.uml import kernel
from execution.uml.uml import UserModeLinux
from flightpath.errors import MeasurementFailed
from flightpath.progress import LiveLine, minutes_and_seconds
from flightpath.units import counted

_MOST_NAMED = 8
_LONGEST_LINE = 160
_BEFORE_DIFFERENCE = 40
"""Characters of a line that are shown before what differs in it."""

_FAILURE_WORDS = re.compile(r"not ok|fail|error|panic|assert|timed? ?out|\bbad\b|differ", re.IGNORECASE)
_VARYING = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?")


class Outcome(BaseModel):
    """The outcome of a command with one seed.

    Attributes:
        exit_code: exit code of the command; None if it did not end.
        output: its output, first of stdout and then of stderr.
        failure: failure in one line; empty if it succeeded.
        virtual_s: duration on the guest's clock.
        another_output: output of the second run, if both runs of the seed differ.
    """

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    seed: int
    exit_code: int | None
    output: bytes
    failure: str
    virtual_s: float
    another_output: bytes | None = None

    def write_logs(self, folder: Path) -> None:
        """Writes the output into a folder, and that of the second run beside it if both differ."""
        (folder / f"seed-{self.seed}.log").write_bytes(self.output)
        if self.another_output is not None:
            (folder / f"seed-{self.seed}-again.log").write_bytes(self.another_output)


class SeededCommand(BaseModel):
    """A command for guests that differ in their seed; what it writes in files vanishes.

    Attributes:
        time_limit_s: limit of a run, on this machine's clock.
        memory_mib, standstill_s, jitter_ns, clock_reading_ns, host_cpu: settings of each guest (`UserModeLinux`).
        twice: run it twice with each seed: then it also fails if both runs differ.
    """

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    argv: list[str]
    stdin: bytes
    time_limit_s: float
    memory_mib: int
    standstill_s: float
    jitter_ns: int
    clock_reading_ns: int
    host_cpu: bool
    twice: bool

    def outcome(self, seed: int, meanwhile: Callable[[], None] = lambda: None) -> Outcome:
        """Runs it with a seed; calls `meanwhile` now and then, which may raise MeasurementFailed to end it."""
        first = self._once(seed, meanwhile)
        if not self.twice:
            return first
        second = self._once(seed, meanwhile)
        if (difference := _difference(first, second)) is None:
            return first
        differing = {"failure": f"two runs differ: {difference}", "another_output": second.output}
        return first.model_copy(update=differing)

    def _once(self, seed: int, meanwhile: Callable[[], None]) -> Outcome:
        guest = UserModeLinux(
            kernel.find(),
            memory_mib=self.memory_mib,
            standstill_s=self.standstill_s,
            seed=seed,
            jitter_ns=self.jitter_ns,
            clock_reading_ns=self.clock_reading_ns,
            host_cpu=self.host_cpu,
        ).guest(self.argv)
        (guest.shared / "stdin").write_bytes(self.stdin)
        with guest:
            try:
                code, failure = guest.ended(self.time_limit_s, meanwhile), ""
            except MeasurementFailed as error:
                code, failure = None, str(error).partition("\n")[0]
            output = b"".join(_content(guest.shared / name) for name in ("stdout", "stderr"))
        failure = failure or (f"exit code {code}: {_failure_line(output)}" if code else "")
        return Outcome(seed=seed, exit_code=code, output=output, failure=failure, virtual_s=guest.command_s)


def search(
    seeds: range, submit: Callable[[int], Future[Outcome]], at_once: int, kept: Path | None = None
) -> list[Outcome]:
    """Runs a command with each seed; shows how far it is, and returns the outcomes in the order of the seeds.

    Args:
        submit: starts a run, here or on a cluster.
        at_once: number of parallel runs.
        kept: folder in which the output of each failed run is kept (`Outcome.write_logs`); None: nowhere.
    """
    began_s, outcomes = time.monotonic(), list[Outcome]()
    with LiveLine() as line:
        line.show(f"virtual: {counted(len(seeds), 'seed')}, {at_once} at once")
        todo = iter(seeds)
        running = {submit(seed) for seed in itertools.islice(todo, at_once)}
        try:
            while running:
                done = next(as_completed(running))
                running.remove(done)
                outcomes.append(done.result())
                if kept is not None and outcomes[-1].failure:
                    outcomes[-1].write_logs(kept)
                running |= {submit(seed) for seed in itertools.islice(todo, 1)}
                line.show(_progress(outcomes, len(seeds), time.monotonic() - began_s))
        finally:
            for future in running:
                future.cancel()
    return sorted(outcomes, key=lambda outcome: outcome.seed)


@contextmanager
def here(command: SeededCommand, jobs: int) -> Iterator[Callable[[int], Future[Outcome]]]:
    """Provides a function that runs a command with a seed on this machine; ends what runs when it is left."""
    stopped = threading.Event()

    def go_on() -> None:
        if stopped.is_set():
            raise MeasurementFailed("interrupted")

    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield lambda seed: pool.submit(command.outcome, seed, go_on)
        finally:
            stopped.set()


def summary(outcomes: Sequence[Outcome], again: Callable[[Outcome], str], *, twice: bool = False) -> str:
    """Returns which seeds failed, grouped by what went wrong, each with the command that repeats it.

    Args:
        again: returns the command that repeats an outcome.
        twice: each seed ran twice.
    """
    failed = [outcome for outcome in outcomes if outcome.failure]
    virtual_s = sum(outcome.virtual_s for outcome in outcomes)
    lines = [
        f"{counted(len(outcomes), 'seed')}: {len(outcomes) - len(failed)} passed, {len(failed)} failed "
        f"({minutes_and_seconds(virtual_s)} of virtual time)"
    ]
    if twice:
        differing = sum(outcome.another_output is not None for outcome in outcomes)
        alike = "with none of them" if differing else "to the last bit of their output"
        alike = f"with {len(outcomes) - differing} of them" if 0 < differing < len(outcomes) else alike
        lines.append(f"two runs of a seed are alike {alike}")
    for group in _groups(failed):
        seeds = [str(outcome.seed) for outcome in group]
        more = f" and {len(seeds) - _MOST_NAMED} more" if len(seeds) > _MOST_NAMED else ""
        lines += [
            "",
            f"{len(group)} x {group[0].failure}",
            f"    {'seeds' if len(seeds) > 1 else 'seed'} {', '.join(seeds[:_MOST_NAMED])}{more}",
            f"    again: {again(group[0])}",
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


def _failure_line(output: bytes) -> str:
    """Returns the last line that mentions a failure, or else the last line."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    matching = [line for line in lines if _FAILURE_WORDS.search(line)]
    return (matching or lines or ["no output"])[-1][:_LONGEST_LINE]


def _difference(first: Outcome, second: Outcome) -> str | None:
    """Returns what differs first between two runs: a line, the exit code, or the time that they took; None: nothing."""
    if first.output != second.output:
        lines, others = (run.output.splitlines(keepends=True) for run in (first, second))
        pairs = enumerate(itertools.zip_longest(lines, others, fillvalue=b"(nothing)"), 1)
        number, (one, other) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
        alike = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
        begin = max(0, alike - _BEFORE_DIFFERENCE)
        return f"first in line {number}: {_shown(one[begin:])} and {_shown(other[begin:])}"
    if first.exit_code != second.exit_code:
        return f"exit code {first.exit_code} and {second.exit_code}, with the same output"
    if first.virtual_s != second.virtual_s:
        return f"{first.virtual_s:.2f} and {second.virtual_s:.2f} s of virtual time, with the same output"
    return None


def _shown(line: bytes) -> str:
    return repr(line.decode(errors="surrogateescape")[:_LONGEST_LINE])


def _content(file: Path) -> bytes:
    with suppress(FileNotFoundError):
        return file.read_bytes()
    return b""
