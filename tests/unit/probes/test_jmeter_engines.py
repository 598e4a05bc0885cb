"""JMeter's remote mode: how students are dealt out, and engines that fail."""

import time
from pathlib import Path

import pytest

from flightpath.errors import MeasurementFailed
from probes.jmeter.engines import Engine, Generator, engines_ready, shares
from tests.support.ssh_far_end import LocalHost


@pytest.mark.parametrize(("students", "engines"), [(12, 1), (12, 3), (13, 4), (4, 4)])
def test_students_arrive_as_they_would_from_one_engine(students, engines):
    names, ramp_s = [f"s{n},c{n}" for n in range(students)], 6.5
    dealt = shares(names, ramp_s, engines)
    arrivals = {
        student: share.after_s + share.ramp_s * number / len(share.students)
        for share in dealt
        for number, student in enumerate(share.students)
    }
    assert arrivals == pytest.approx({name: ramp_s * number / students for number, name in enumerate(names)})


def test_each_engine_needs_a_student():
    with pytest.raises(ValueError, match="3 students for 4 engines"):
        shares(["a,b"] * 3, 1.0, 4)


def engine(folder: Path, script: str) -> Engine:
    return Engine(Generator(LocalHost(), "10.0.3.4"), ["sh", "-c", script, "jmeter"], {"threads": "5"}, folder)


def test_engines_are_used_when_they_say_so_and_end_with_the_load(tmp_path):
    with engines_ready([engine(tmp_path, 'echo "$@"; sleep 0.3; echo Created remote object: x; sleep 60')]) as ready:
        (only,) = ready
        said = (tmp_path / "engine.out").read_text()
        assert "-s" in said and "-Jthreads=5" in said and "-Jserver_port=1099" in said
        process = only._process
        assert process.poll() is None
    assert process.poll() is not None


def test_an_engine_that_dies_is_named_with_its_last_words(tmp_path):
    begun = time.monotonic()
    starting = [engine(tmp_path, "echo Cannot start; exit 3")]
    with (
        pytest.raises(MeasurementFailed, match="JMeter on local ended with exit code 3: Cannot start"),
        engines_ready(starting),
    ):
        pass
    assert time.monotonic() - begun < 10
