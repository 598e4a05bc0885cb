"""The fuzz targets over their seeds and some variations, always the same; `make fuzz` looks further, with clang.

`make test` tries the first of the variations, for a fault that is easily found; `make test-all` tries them all.
"""

import math
import random
import subprocess

import pytest

from tests.fuzz.loop import TARGETS, target_named
from tests.fuzz.seeds import write_seeds
from tests.fuzz.targets import VARIATIONS, build

INPUTS = {"frames": 50, "imports": 80, "pages": 8, "rows": 8, "spool": 10, "measurements": 20, "openflow": 40}
OTHERS = 150
in_parts = pytest.mark.parametrize("part", [0.2, pytest.param(1, marks=pytest.mark.nightly)])


@in_parts
@pytest.mark.parametrize("target", VARIATIONS)
def test_hostile_input_crashes_nothing_and_the_books_balance(tmp_path, target, part):
    write_seeds(target, tmp_path / "seeds")
    argv = [build(target, libfuzzer=False), tmp_path / "seeds", str(round(part * VARIATIONS[target]))]
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]


@in_parts
@pytest.mark.parametrize("name", TARGETS)
def test_hostile_input_is_read_or_refused_and_fills_nothing(name, part):
    target = target_named(name)
    for number in range(math.ceil(part * INPUTS.get(name, OTHERS))):
        target.read(target.made(random.Random(f"{name} {number}")))
