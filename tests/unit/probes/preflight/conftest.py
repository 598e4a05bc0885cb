"""The commands of preflight on a store of the test's own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes.preflight.__main__ import main
from tests.support.preflight_made_up import noisy, store_daily


@pytest.fixture(scope="session")
def steady_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with twelve days of measurements."""
    folder = tmp_path_factory.mktemp("steady")
    store_daily(folder, noisy(12))
    return folder


@pytest.fixture
def steady(steady_template: Path, tmp_path: Path) -> Path:
    """The same, which a test may change."""
    return Path(shutil.copytree(steady_template, tmp_path, dirs_exist_ok=True))


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command with the store in `tmp_path`; returns its exit code, and what it wrote to stdout and to stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--results", str(tmp_path)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def told(ask: Callable[..., tuple[int, str, str]]) -> Callable[..., Any]:
    """Runs such a command, which succeeds unless told otherwise; returns the JSON that it printed."""

    def run(*words: str, code: int = 0) -> Any:
        found, stdout, stderr = ask(*words, "--json")
        assert found == code, stderr
        return json.loads(stdout)

    return run
