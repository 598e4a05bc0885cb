"""`flightpath mn` and `mn-run` on either clock: which words are ours."""

import pytest

from execution.mininet_clock import ClockOptions
from flightpath.clock import Clock
from flightpath.errors import UsageError


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--topo single,2", (Clock.REAL, None, "--topo single,2")),
        ("--clock virtual --topo single,2 --seed=7", (Clock.VIRTUAL, 7, "--topo single,2")),
        ("--topo tree --clock=real", (Clock.REAL, None, "--topo tree")),
    ],
)
def test_the_options_of_the_clock_are_taken_out_of_mns(line, expected):
    clock, seed, words = ClockOptions.take(line.split())
    assert (clock, seed, " ".join(words)) == expected


def test_a_script_keeps_its_own_options():
    line = "--congestion-control reno --clock virtual net.py --clock atomic --seed x"
    options = ClockOptions.take(line.split(), before_script=True)
    assert options[:2] == (Clock.VIRTUAL, None)
    assert " ".join(options.words) == "--congestion-control reno net.py --clock atomic --seed x"


@pytest.mark.parametrize("line", ["--clock", "--clock atomic", "--clock virtual --seed -1", "--seed 1"])
def test_what_is_no_clock_or_seed_is_refused(line):
    with pytest.raises(UsageError):
        ClockOptions.take(line.split())
