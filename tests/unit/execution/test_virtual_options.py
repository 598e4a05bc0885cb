"""`flightpath virtual`, `mn` and `mn-run`: options of the clock, and what is said of many seeds."""

import pytest

from execution import virtual
from execution.mininet_clock import ClockOptions
from execution.seeds import Outcome, _difference, _failure_line, summary
from flightpath.clock import Clock
from flightpath.errors import UsageError


def outcome(seed: int, failure: str = "") -> Outcome:
    return Outcome(seed=seed, exit_code=1 if failure else 0, output=b"", failure=failure, virtual_s=90.0)


def test_failures_that_differ_in_numbers_only_are_one_kind_the_most_frequent_first():
    failures = {2: "exit code 1: timeout after 11921 ms", 9: "exit code 2: panic", 4: "exit code 1: timeout after 7 ms"}
    text = summary([outcome(seed, failures.get(seed, "")) for seed in range(1, 11)], "again {0.seed}".format)
    assert text.splitlines() == [
        "10 seeds: 7 passed, 3 failed (15:00 of virtual time)",
        "",
        "2 x exit code 1: timeout after 11921 ms",
        "    seeds 2, 4",
        "    again: again 2",
        "",
        "1 x exit code 2: panic",
        "    seed 9",
        "    again: again 9",
    ]


@pytest.mark.parametrize(
    ("output", "line"),
    [(b"ok 1\nnot ok 2 - join\n# done\n\n", "not ok 2 - join"), (b"a\nb\n", "b"), (b" \n", "no output")],
)
def test_the_line_that_speaks_of_a_failure_is_shown(output, line):
    assert _failure_line(output) == line


@pytest.mark.parametrize(
    ("second", "difference"),
    [
        ({"output": b"a\nx\ny"}, r"first in line 2: 'b\n' and 'x\n'"),
        ({"output": b"a\nb\nc\n"}, r"first in line 3: 'c' and 'c\n'"),
        ({"output": b"a\n"}, r"first in line 2: 'b\n' and '(nothing)'"),
        ({"output": b"a\nb\n\xff"}, r"first in line 3: 'c' and '\udcff'"),
        ({"exit_code": 7}, "exit code 0 and 7, with the same output"),
        ({"virtual_s": 90.01}, "90.00 and 90.01 s of virtual time, with the same output"),
        ({}, None),
    ],
)
def test_what_differs_first_between_two_runs_is_said(second, difference):
    first = outcome(1).model_copy(update={"output": b"a\nb\nc"})
    assert _difference(first, first.model_copy(update=second)) == difference


def test_what_differs_late_in_a_long_line_is_shown():
    one, other = (outcome(1).model_copy(update={"output": b"." * 500 + end}) for end in (b"one", b"other"))
    assert _difference(one, other) == f"first in line 1: {'.' * 39 + 'one'!r} and {'.' * 39 + 'other'!r}"


@pytest.mark.parametrize(
    ("differing", "said"),
    [(0, "alike to the last bit of their output"), (1, "alike with 2 of them"), (3, "alike with none of them")],
)
def test_runs_of_a_seed_are_said_to_be_alike_or_not(tmp_path, differing, said):
    unlike = {"failure": "two runs differ: first in line 1: 'a' and 'b'", "another_output": b"b"}
    outcomes = [outcome(n).model_copy(update=unlike if n < differing else {}) for n in range(3)]
    assert f"two runs of a seed are {said}" in summary(outcomes, "again {0.seed}".format, twice=True).splitlines()
    outcomes[0].write_logs(tmp_path)
    assert (tmp_path / "seed-0.log").exists() and (tmp_path / "seed-0-again.log").exists() is bool(differing)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seeds", "9-1"], "no range of seeds"),
        (["--jitter", "2s"], "more than a second"),
        (["--jobs", "2"], "add --seeds"),
        (["--jobs", "0", "--same"], "--jobs"),
        (["--cluster", "tls://a:1"], "add --seeds"),
        (["--cluster", "tls://a:1", "--same", "--jobs", "2"], "flightpath worker --jobs"),
        (["--clock", "real", "--same"], "for the virtual clock"),
        (["--interactive"], "needs a terminal"),
        (["--interactive", "--seeds", "1-2"], "for one run"),
    ],
)
def test_what_cannot_be_is_refused_before_a_guest_starts(capsys, options, said):
    assert virtual.main([*options, "--", "true"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "script", "clock", "seed", "others"),
    [
        ("--topo single,2", "", Clock.REAL, None, "--topo single,2"),
        ("--clock virtual --topo single,2 --seed=7", "", Clock.VIRTUAL, 7, "--topo single,2"),
        ("--congestion-control bic --clock virtual", "x.py --seed x", Clock.VIRTUAL, None, "--congestion-control bic"),
    ],
)
def test_the_options_of_the_clock_are_taken_out_of_mns_and_a_script_keeps_its_own(line, script, clock, seed, others):
    words = f"{others} {script}".split()
    assert ClockOptions.take(f"{line} {script}".split(), before_script=bool(script)) == (clock, seed, words)


@pytest.mark.parametrize("line", ["--clock", "--clock atomic", "--clock virtual --seed -1", "--seed 1"])
def test_what_is_no_clock_or_seed_is_refused(line):
    with pytest.raises(UsageError):
        ClockOptions.take(line.split())
