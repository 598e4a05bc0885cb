"""A dry run measures nothing, and refuses what the real run refuses."""

import subprocess
import sys
from pathlib import Path

import pytest

from flightpath.project import PROJECT


def dry_run(results: Path, *words: str) -> subprocess.CompletedProcess:
    argv = [sys.executable, "-m", "scenarios.mptcp_load", "--dry-run", "--results", str(results), *words]
    return subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--event", "1s nowhere down"], "nowhere"),
        (["--congestion-control", "no_such_algorithm"], "no_such_algorithm"),
        (["--clock", "real", "--machine", "here", "--jobs", "2"], "--jobs"),
    ],
)
def test_what_the_run_refuses_is_refused(tmp_path, words, said):
    done = dry_run(tmp_path / "results", *words)
    assert done.returncode in (2, 3) and said in done.stderr, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_what_the_run_accepts_is_listed(tmp_path):
    done = dry_run(tmp_path / "results", "--only", "protocol=tcp")
    assert done.returncode == 0, done.stderr
    assert "cells, about" in done.stdout and "protocol=mptcp" not in done.stdout
    assert not (tmp_path / "results").exists()
