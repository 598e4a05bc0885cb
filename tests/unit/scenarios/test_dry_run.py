"""What a scenario refuses, with exit code 2 or 3 and nothing made; a dry run refuses the same, and measures nothing."""

import subprocess
import sys

import pytest

from flightpath.project import PROJECT
from scenarios.command import runner
from scenarios.l4s_coexistence import L4sCoexistence
from scenarios.mptcp_load import MptcpLoad


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        ("--bandwidth 50", 2, "bandwidth: cannot read '50'"),
        ("--bandwidth 1Mbit,2Mbit,3Mbit", 2, "3 values for 2 planes"),
        ("--delay 5", 2, "delay: cannot read '5'"),
        ("--loads 0", 2, "--loads: cannot read '0'"),
        ("--loads fast", 2, "--loads: cannot read 'fast'"),
        ("--page-weight 1k", 2, "--page-weight: a page has at least"),
        ("--buffering of", 2, "did you mean 'off'"),
        ("--receive-buffer some", 2, "cannot read"),
        ("--policy fastest", 2, "unknown"),
        ("--scheduler blast", 2, "--scheduler: 'blast' is unknown"),
        ("--path-manager nobody", 2, "--path-manager: 'nobody' is unknown"),
        ("--stale-loss-cnt few", 2, "--stale-loss-cnt: 'few' is not a whole number"),
        ("--policy ecmp", 2, "add --topology fabric"),
        ("--scale 0", 2, "--scale: 0 is not possible"),
        ("--threads 0", 2, "--threads: 0 is less than 1"),
        ("--capture h9", 2, "--capture: there is no 'h9'"),
        ("--resume nothing", 2, "there is no"),
        ("--response-timeout 0", 2, "--response-timeout"),
        ("--event 1s_nowhere_down", 2, "nowhere"),
        ("--congestion-control no_such_algorithm", 3, "no_such_algorithm"),
        ("--machine here --jobs 2", 2, "--jobs"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence_and_makes_nothing(tmp_path, capsys, words, code, reason):
    results = tmp_path / "results"
    options = [word.replace("_", " ") if word.startswith("1s_") else word for word in words.split()]
    for dry_run in ([], ["--dry-run"]):
        with pytest.raises(SystemExit) as ended:
            runner.main(MptcpLoad(), [*options, *dry_run, "--clock", "real", "--results", str(results)])
        output = capsys.readouterr().err
        assert ended.value.code == code and output.startswith("error: ") and reason in output
        assert not results.exists()


def test_a_queue_that_no_emulator_of_this_kernel_has_is_refused_with_the_clock_that_has_it(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        options = ["--clock", "real", "--emulator", "relay", "--results", str(tmp_path / "results")]
        runner.main(L4sCoexistence(), options)
    assert ended.value.code == 3
    assert "no queue discipline" in (output := capsys.readouterr().err) and "--clock virtual" in output


def test_a_command_that_is_refused_prints_one_error_and_has_its_exit_code(tmp_path):
    argv = [sys.executable, "-m", "scenarios.mptcp_load", "--loads", "0", "--results", str(tmp_path / "results")]
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("error: --loads: cannot read '0'")
