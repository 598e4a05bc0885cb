"""The fuzz targets over their seeds and some thousand variations: `make fuzz` looks further, and needs clang."""

import subprocess

import pytest

from tests.fuzz.targets import TARGETS, build, write_seeds

VARIATIONS = {"line": 3000, "trace": 20_000, "commands": 3000}


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_input_crashes_nothing_and_the_books_balance(tmp_path, target):
    write_seeds(target, tmp_path / "seeds")
    build(target, tmp_path / "program", libfuzzer=False)
    argv = [tmp_path / "program", tmp_path / "seeds", str(VARIATIONS[target])]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
