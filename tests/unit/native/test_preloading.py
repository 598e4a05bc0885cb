"""Libraries that are preloaded into programs, from a checkout whose path has spaces."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

import native
from tests.support.finished import finished


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Folder of the libraries; another one is preloaded already."""
    own, unneeded = native.binary("relay").parent, shutil.ignore_patterns("objects")
    built = shutil.copytree(own, tmp_path / "a b $c", ignore=unneeded)
    monkeypatch.setattr(native, "_BUILD", built)
    monkeypatch.setenv("LD_PRELOAD", "libm.so.6")
    return built


@pytest.mark.parametrize("library", ["sockets.so", "select_backoff.so", "steady_time.so"])
def test_a_library_is_loaded_besides_those_of_others(folder, library):
    variables = [f"{name}={value}" for name, value in native.preloading(library).items()]
    for words in (["env", *variables], native.preloading_command(library)):
        done = finished([*words, "cat", "/proc/self/maps"])
        assert done.stderr == ""
        assert f"{folder}/{library}" in done.stdout and "libm.so.6" in done.stdout


def test_a_steady_time_of_day_is_the_monotonic_clock_and_an_offset(folder):
    offset_ns = 10**18 + 999_999_999
    words = ["env", f"STEADY_TIME_OFFSET_NS={offset_ns}", *native.preloading_command("steady_time.so")]
    before_ns = time.monotonic_ns()
    printed = subprocess.run([*words, "date", "+%s%N"], capture_output=True, check=True).stdout
    assert before_ns < int(printed) - offset_ns < time.monotonic_ns()
