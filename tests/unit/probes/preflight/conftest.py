"""The commands of preflight on a store of the test's own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes.preflight.__main__ import main


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command with the store in `tmp_path`; returns its exit code, and what it wrote to stdout and to stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--results", str(tmp_path)])
        return code, *capsys.readouterr()

    return run
