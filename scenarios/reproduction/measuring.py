"""Measures the parts one after the other, each as a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from flightpath.clock import Clock
from flightpath.command_line import INTERRUPTED
from flightpath.errors import UntrustworthyResult
from flightpath.launcher import python_module
from flightpath.libc import end_with
from flightpath.units import format_span
from scenarios.reproduction.part import CORES
from scenarios.reproduction.progress import Next, State

_MEASURED = (0, UntrustworthyResult.exit_code)
"""Exit codes of a measured part: unusable cells say something about the machine, so they belong in the record."""


def measure(states: Sequence[State], folder: Path, jobs: int | None, cluster: str | None = None) -> int:
    """Measures what is missing, into the store of a folder; returns the exit code.

    A part that cannot be measured does not stop the others; the exit code is that of the first such part.
    """
    estimates_s = [remaining_s(state, jobs) for state in states]
    worst, spent_s, estimated_s = 0, 0.0, 0.0
    for number, state in enumerate(states):
        pace = spent_s / estimated_s if estimated_s else 1.0
        left_s = pace * sum(estimates_s[number:])
        announced = f"[{number + 1}/{len(states)}] {state.part.name}: {_doing(state)}"
        print(f"{announced}; about {format_span(left_s)} left in all", file=sys.stderr, flush=True)
        if state.next is Next.NOTHING:
            continue
        started = time.monotonic()
        code = _run(command(state, folder, jobs, cluster))
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code in _MEASURED:
            spent_s, estimated_s = spent_s + time.monotonic() - started, estimated_s + estimates_s[number]
        else:
            print(f"{state.part.name} could not be measured (exit code {code})", file=sys.stderr, flush=True)
            worst = worst or code
    return worst


def remaining_s(state: State, jobs: int | None) -> float:
    """Estimates the time that the missing cells of a part take."""
    if state.next is Next.NOTHING:
        return 0.0
    return state.part.estimate_s(jobs or CORES) * (1 - state.cells / max(1, state.planned))


def command(state: State, folder: Path, jobs: int | None, cluster: str | None = None) -> list[str]:
    """Returns the command that measures the missing cells of a part."""
    part = state.part
    words = python_module(f"scenarios.{part.scenario.name}", *part.arguments, "--results", str(folder))
    if state.next is Next.RESUME and state.record is not None:
        words += ["--resume", state.record.run_id]
    if part.clock is Clock.VIRTUAL and cluster:
        words += ["--cluster", cluster]
    elif part.clock is Clock.VIRTUAL and jobs is not None:
        words += ["--jobs", str(jobs)]
    return words


def _doing(state: State) -> str:
    if state.next is Next.NOTHING:
        return "complete already"
    if state.next is Next.RESUME:
        return f"goes on after {state.cells} of {state.planned} cells"
    return f"{state.planned} cells, {state.part.clock} clock"


def _run(words: Sequence[str]) -> int:
    """Runs a command and returns its exit code; Ctrl-C is passed on, so that finished cells are kept.

    As SIGTERM, because what a shell starts in the background ignores SIGINT.
    """
    at_our_end = partial(end_with, os.getpid(), signal.SIGTERM)
    # In a session of its own, so that the terminal's Ctrl-C does not reach it a second time.
    with subprocess.Popen(words, start_new_session=True, preexec_fn=at_our_end) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            return INTERRUPTED
