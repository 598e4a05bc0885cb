"""The relay's command line: wrong specifications and options are refused by name, and leave nothing behind."""

from pathlib import Path

import pytest

import native
from flightpath.errors import MissingCapability
from tests.support.finished import finished


def run(tmp_path, *arguments, without=None):
    """The relay with good options, but for the one that is left out; later arguments take the place of earlier ones."""
    options = {"--name": "link", "--a": "fp-test-a", "--b": "fp-test-b", "--control": str(tmp_path / "control")}
    good = [word for option, value in options.items() if option != without for word in (option, value)]
    return finished([native.binary("relay"), *good, *arguments], timeout=20)


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        ("rate_bps=999", "rate_bps", "'999'"),
        ("rate_bps=", "rate_bps", "''"),
        ("delay_ns=2592000000000001", "delay_ns", "'2592000000000001'"),
        ("loss=1.01", "loss", "'1.01'"),
        ("loss=nan", "loss", "'nan'"),
        ("queue_bytes=1e6", "queue_bytes", "'1e6'"),
        ("jitter=gauss", "jitter", "normal uniform"),
        ("ecn=yes", "ecn", "'yes'"),
        ("jitters_ns=1", "jitters_ns", "'1'"),
        ("overhead_bytes=1001", "overhead_bytes", "'1001'"),
        ("trace=/nonexistent", "trace", "/nonexistent"),
        ("trace=/dev/zero", "trace", "no regular file"),
        ("rate_bps=1000000,loss", "'loss'", "key=value"),
        ("delay_ns=" + "0" * 6000, "spec", "too long"),
    ],
)
@pytest.mark.parametrize("option", ["--a-to-b", "--b-to-a"])
def test_bad_spec_is_refused_with_its_field_and_value(tmp_path, option, spec, field, value):
    done = run(tmp_path, option, spec)
    assert done.stderr.count("\n") == 1
    assert_refused(done, tmp_path, option, field, value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "0 ms"),
        ("0\n0\n", "0 ms"),
        ("1\n\n2\n", "line 2"),
        ("5\n4\n", "line 2: 4 comes after 5"),
        ("1\n99999999999999999999\n", "line 2"),
    ],
)
def test_bad_trace_is_refused_with_its_line(tmp_path, text, complaint):
    trace = tmp_path / "trace"
    trace.write_text(text)
    done = run(tmp_path, "--a-to-b", f"rate_bps=1000000,trace={trace}")
    trace.unlink()
    assert_refused(done, tmp_path, str(trace), complaint)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--name", 'quo"te'),
        ("--a", "sixteen-letters-"),
        ("--b", "a/b"),
        ("--b", "fp-test-a"),
        ("--a", "fp-test-a@0"),
        ("--mtu", "67"),
        ("--a-mac", "02:00:00:00:00"),
        ("--b-mac", "01:00:00:00:00:01"),
        ("--seed", "18446744073709551616"),
        ("--frobnicate",),
        ("stray",),
    ],
)
def test_bad_argument_is_refused_by_name(tmp_path, arguments):
    assert_refused(run(tmp_path, *arguments), tmp_path, arguments[0])


@pytest.mark.parametrize("option", ["--name", "--a", "--control"])
def test_missing_option_is_refused_by_name(tmp_path, option):
    assert_refused(run(tmp_path, without=option), tmp_path, option)


@pytest.mark.parametrize("path", ["/nonexistent/folder/control", "/tmp/" + "x" * 120])
def test_impossible_control_path_is_exit_3(tmp_path, path):
    assert_refused(run(tmp_path, "--control", path), tmp_path, path, code=3)


def test_help_teaches():
    done = finished([native.binary("relay"), "--help"], timeout=20)
    assert done.returncode == 0
    assert [word for word in ("rate_bps=", "corrupt=", "nanoseconds", "--seed") if word not in done.stdout] == []


def test_binary_that_is_not_built_says_how_to_build_it():
    with pytest.raises(MissingCapability, match=r"no-such-program(.|\n)*make setup"):
        native.binary("no-such-program")


def assert_refused(done, tmp_path, *words, code=2):
    """With these words, and without leaving anything behind."""
    assert done.returncode == code
    assert [word for word in words if word not in done.stderr] == []
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []
    assert not Path("/sys/class/net/fp-test-a").exists()
    assert not Path("/sys/class/net/fp-test-b").exists()
