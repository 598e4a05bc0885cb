"""Mininet's `mn` with Flightpath's file, started for a test, and what a network of Mininet's would leave behind."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from flightpath.project import PROJECT
from tests.support.machine_state import interfaces

CUSTOM = ["--custom", "topologies/mn.py"]
MN_RUN = [sys.executable, "-m", "topologies.mininet.scripts.program"]
_END_OF_ANSWER = "end of answer"


def mn(*arguments: str, script: str = "") -> subprocess.CompletedProcess[str]:
    """Runs mn with a script on stdin; stderr, where Mininet's log goes, is mixed into stdout in order."""
    return _done(["mn", *CUSTOM, *arguments], script)


def mn_run(script: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a script as `flightpath mn-run` does; stderr is mixed into stdout in order."""
    return _done([*MN_RUN, str(script), *arguments], typed)


def machine() -> tuple[set[str], set[str]]:
    """Leftovers of a network of Mininet's: interfaces, and files of an Open vSwitch."""
    return interfaces(), set(map(str, Path("/run").glob("openvswitch/*")))


class Running(subprocess.Popen[str]):
    """A program of this project that runs, and is killed at the end of the block; stderr is mixed into stdout."""

    def __init__(self, words: Sequence[str], folder: Path = PROJECT) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        super().__init__(words, cwd=folder, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}, **pipes)

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.communicate()

    def type(self, lines: str) -> None:
        self.stdin.write(f"{lines}\n")
        self.stdin.flush()

    def read_until(self, words: str) -> list[str]:
        """The lines that it says up to one with these words, without the prompts."""
        said = []
        for line in self.stdout:
            said.append(line.replace("mininet> ", "").rstrip())
            if words in line:
                return said
        raise AssertionError(f"it ended before it said {words!r}: {said}")

    def ask(self, line: str) -> list[str]:
        """Output of a line at the prompt of mn."""
        self.type(f"{line}\npx print({_END_OF_ANSWER!r}, flush=True)")
        *said, last = self.read_until(_END_OF_ANSWER)
        return [*said, *filter(None, [last.removesuffix(_END_OF_ANSWER)])]


def _done(words: Sequence[str], typed: str = "") -> subprocess.CompletedProcess[str]:
    with Running(words) as process:
        said, _ = process.communicate(typed, timeout=100)
    return subprocess.CompletedProcess(words, process.returncode, said)
