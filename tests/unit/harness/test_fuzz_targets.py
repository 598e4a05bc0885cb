"""The fuzz targets over their seeds and some thousand variations: `make fuzz` looks further, and needs clang."""

import subprocess
from itertools import islice

import pytest

from tests.fuzz import frames
from tests.fuzz.targets import TARGETS, build, write_seeds

VARIATIONS = {"line": 3000, "trace": 20_000, "commands": 3000, "tunnel": 6000, "configuration": 20_000}


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_input_crashes_nothing_and_the_books_balance(tmp_path, target):
    write_seeds(target, tmp_path / "seeds")
    build(target, tmp_path / "program", libfuzzer=False)
    argv = [tmp_path / "program", tmp_path / "seeds", str(VARIATIONS[target])]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("seed", range(2))
def test_hostile_frames_raise_nothing_and_fill_nothing(seed):
    assert sum(1 for _ in islice(frames.feed(seed), 5000)) == 5000
