"""Runs fuzz targets, several side by side, each in a process of its own."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from flightpath.commands import run
from flightpath.errors import FlightpathError, MissingCapability
from flightpath.project import PROJECT
from tests.fuzz.loop import TARGETS as IN_PYTHON
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import MAX_BYTES, VARIATIONS, build

KNOWN = (*IN_PYTHON, *VARIATIONS)
KEPT = PROJECT / "build" / "fuzz"
"""Where inputs are kept that failed."""

_LOOP = [sys.executable, "-m", "tests.fuzz.loop"]
_INPUT_LIMIT_S = 20
_LOG = 4000
_EXECUTED = re.compile(r"^stat::number_of_executed_units: (\d+)", re.MULTILINE)
_COVERED = re.compile(r"\bcov: (\d+)")
_KEPT_BY_LIBFUZZER = re.compile(r"Test unit written to (\S+)")


@dataclass(frozen=True)
class Tried:
    """What came of a target.

    Attributes:
        inputs: how many were tried.
        coverage: edges of the program that they reached; None for a target in Python.
        fault: what went wrong, with what repeats it; empty if nothing did.
        log: what the target printed, if something went wrong.
    """

    target: str
    inputs: int
    coverage: int | None = None
    fault: str = ""
    log: str = ""

    @property
    def line(self) -> str:
        """The result in words, for a terminal."""
        covered = "" if self.coverage is None else f", {self.coverage} edges covered"
        return f"{self.target}: {self.inputs} inputs{covered}: {self.fault or 'no fault'}"


def require_libfuzzer() -> None:
    """Raises MissingCapability if an empty target cannot be built."""
    with tempfile.TemporaryDirectory(prefix="flightpath-fuzz-") as folder:
        source = Path(folder) / "empty.c"
        source.write_text("int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n > 0; }\n")
        argv = ["clang", "-fsanitize=fuzzer,address,undefined", str(source), "-o", str(source.with_suffix(""))]
        try:
            run(argv)
        except FlightpathError as error:
            raise MissingCapability(
                f"clang cannot build with libFuzzer here: {error}", "as root: apt install clang libclang-rt-dev"
            ) from error


def fuzz_all(targets: Sequence[str], seconds: float, jobs: int) -> Iterator[Tried]:
    """Tries targets for so long each, so many at once; yields each as it ends."""
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(_fuzz, target, seconds) for target in targets]
        for done in as_completed(running):
            yield done.result()


def repeat(target: str, file: Path) -> int:
    """Reads an input once more, and prints what the target prints; returns its exit code."""
    if target in IN_PYTHON:
        return subprocess.run([*_LOOP, target, "--input", str(file)], cwd=PROJECT, check=False).returncode
    return subprocess.run([build(target, libfuzzer=True), file], check=False).returncode


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
    tried = Tried(target, int((done.stdout.split() or ["0"])[-1]))
    if done.returncode == 0:
        file.unlink()
        return tried
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return replace(tried, fault=f"{last[:200]}; {_repeated(target, file)}", log=done.stderr[-_LOG:])


def _with_libfuzzer(target: str, corpus: Path, seconds: float) -> Tried:
    limits = [f"-max_len={MAX_BYTES}", f"-timeout={_INPUT_LIMIT_S}", "-rss_limit_mb=8192"]
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
