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
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs a command with the store in `tmp_path` and this exit code; returns its output, `out` and `err`."""

    def run(*words: str, code: int = 0) -> Any:
        found, printed = main([*words, "--results", str(tmp_path)]), capsys.readouterr()
        assert found == code, printed.err
        return printed

    return run


@pytest.fixture
def told(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Runs such a command, and returns the JSON that it printed."""
    return lambda *words, code=0: json.loads(ask(*words, "--json", code=code).out)
