"""`make fuzz`: looks for inputs that crash what reads bytes from outside, or that it reads wrongly.

Those in C run with libFuzzer. An input that fails is kept in build/fuzz; --input reads it once more.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from flightpath.command_line import exit_code_of
from flightpath.project import PROJECT
from tests.fuzz.loop import TARGETS as IN_PYTHON
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import MAX_BYTES, VARIATIONS, build

KNOWN = (*IN_PYTHON, *VARIATIONS)
KEPT = PROJECT / "build" / "fuzz"
"""Folder of the inputs that failed."""

_LOOP = [sys.executable, "-m", "tests.fuzz.loop"]
_LOG = 4000
_EXECUTED = re.compile(r"^stat::number_of_executed_units: (\d+)", re.MULTILINE)
_COVERED = re.compile(r"\bcov: (\d+)")
_KEPT_BY_LIBFUZZER = re.compile(r"Test unit written to (\S+)")


@dataclass(frozen=True)
class Tried:
    """Outcome of a target: the coverage is in edges of the program, and the fault says what repeats it."""

    target: str
    inputs: int
    coverage: int | None = None
    fault: str = ""
    log: str = ""

    @property
    def line(self) -> str:
        covered = "" if self.coverage is None else f", {self.coverage} edges covered"
        return f"{self.target}: {self.inputs} inputs{covered}: {self.fault or 'no fault'}"


def main() -> int:
    """Prints a line for each target; returns 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(KNOWN)} (all)")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="for each target (60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="targets at once (%(default)s)")
    parser.add_argument("--input", type=Path, metavar="FILE", help="only read this, which failed before")
    options = parser.parse_args()
    targets = options.targets or KNOWN
    if unknown := set(targets) - set(KNOWN):
        parser.error(f"unknown target {', '.join(sorted(unknown))}: known are {', '.join(KNOWN)}")
    if options.jobs < 1 or options.seconds < 1:
        parser.error("--jobs and --seconds are at least 1")
    if options.input and len(targets) != 1:
        parser.error("--input belongs to one target")
    if options.input:
        return _repeat(targets[0], options.input)
    for target in set(targets) - set(IN_PYTHON):
        build(target, libfuzzer=True)  # an error is told before anything runs
    failed = False
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(_fuzz, target, options.seconds) for target in targets]):
            tried = done.result()
            print(tried.line, flush=True)
            print(tried.log, end="", file=sys.stderr, flush=True)
            failed |= bool(tried.fault)
    return int(failed)


def _repeat(target: str, file: Path) -> int:
    """Reads an input once more, and prints what the target prints; returns its exit code."""
    program = [*_LOOP, target, "--input"] if target in IN_PYTHON else [build(target, libfuzzer=True)]
    return subprocess.run([*program, file.resolve()], cwd=PROJECT, check=False).returncode


def _fuzz(target: str, seconds: float) -> Tried:
    KEPT.mkdir(parents=True, exist_ok=True)
    if target in IN_PYTHON:
        return _in_python(target, seconds)
    with tempfile.TemporaryDirectory(prefix="flightpath-fuzz-") as name:
        corpus = Path(name)
        for number, content in enumerate(seeds(target)):
            (corpus / f"{number:02}").write_bytes(content)
        return _with_libfuzzer(target, corpus, seconds)


def _in_python(target: str, seconds: float) -> Tried:
    with tempfile.NamedTemporaryFile(dir=KEPT, prefix=f"{target}-", delete=False) as kept:
        file = Path(kept.name)
    done = subprocess.run([*_LOOP, target, str(seconds), str(file)], capture_output=True, text=True, cwd=PROJECT)
    inputs = int((done.stdout.split() or ["0"])[-1])
    if done.returncode == 0:
        file.unlink()
        return Tried(target, inputs)
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return Tried(target, inputs, fault=f"{last[:200]}; {_repeated(target, file)}", log=done.stderr[-_LOG:])


def _with_libfuzzer(target: str, corpus: Path, seconds: float) -> Tried:
    limits = [f"-max_len={MAX_BYTES}", "-timeout=20", "-rss_limit_mb=8192"]
    argv = [build(target, libfuzzer=True), f"-max_total_time={max(1, round(seconds))}", *limits, "-print_final_stats=1"]
    argv += ["-close_fd_mask=1", f"-artifact_prefix={KEPT}/{target}-", corpus]
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    executed, covered = _EXECUTED.findall(done.stderr), _COVERED.findall(done.stderr)
    tried = Tried(target, int(executed[-1]) if executed else 0, int(covered[-1]) if covered else None)
    if done.returncode == 0:
        return tried
    kept = _KEPT_BY_LIBFUZZER.findall(done.stderr)
    repeat_with = _repeated(target, Path(kept[-1])) if kept else "it kept no input"
    lines, marks = done.stderr.splitlines(), ("does not hold", "runtime error", "SUMMARY:", "ERROR:")
    summary = next((line for mark in marks for line in lines if mark in line), "it crashed")[:200]
    return replace(tried, fault=f"{summary}; {repeat_with}", log=done.stderr[-_LOG:])


def _repeated(target: str, file: Path) -> str:
    return f"python -m tests.fuzz {target} --input {file}"


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
