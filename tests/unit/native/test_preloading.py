"""Libraries that are preloaded into programs, from a checkout whose path has spaces."""

import shutil
import subprocess
from pathlib import Path

import pytest

import native
from flightpath.clock import Clock
from probes.transfers import iperf3


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Folder of the libraries; another one is preloaded already."""
    built = shutil.copytree(
        native.binary("relay").parent, tmp_path / "a b $c", ignore=shutil.ignore_patterns("objects")
    )
    monkeypatch.setattr(native, "_BUILD", built)
    monkeypatch.setattr(iperf3, "clock_here", lambda: Clock.VIRTUAL)
    monkeypatch.setenv("LD_PRELOAD", "libm.so.6")
    return built


@pytest.mark.parametrize("library", ["sockets.so", "patience.so"])
def test_a_library_is_loaded_besides_those_of_others(folder, library):
    words = iperf3._patiently() if library == "patience.so" else ["env", *_assignments(native.preloading(library))]
    done = subprocess.run([*words, "cat", "/proc/self/maps"], capture_output=True, text=True)
    assert done.stderr == ""
    assert f"{folder}/{library}" in done.stdout and "libm.so.6" in done.stdout


def _assignments(variables: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in variables.items()]
