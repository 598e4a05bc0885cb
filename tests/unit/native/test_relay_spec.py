"""The relay's command line: wrong specifications and options are refused by name, and leave nothing behind."""

import shutil
import subprocess
from pathlib import Path

import pytest

import native
from flightpath.errors import MissingCapability

NATIVE = Path(native.__file__).parent


@pytest.fixture(scope="module")
def relay(tmp_path_factory):
    """A build of its own, so that the tests need no `make` first."""
    copy = tmp_path_factory.mktemp("relay") / "native"
    shutil.copytree(NATIVE, copy, ignore=shutil.ignore_patterns("build"))
    subprocess.run(["make", "--silent", "-C", copy, "build/relay"], check=True)
    return copy / "build" / "relay"


def run(relay, tmp_path, *, replace=None, extra=()):
    """The relay with good options, except for those replaced (None: left out)."""
    options = {"--name": "link", "--a": "fp-test-a", "--b": "fp-test-b", "--control": str(tmp_path / "control")}
    options.update(replace or {})
    argv = [str(relay)]
    for option, value in options.items():
        argv += [option, value] if value is not None else []
    return subprocess.run([*argv, *extra], capture_output=True, text=True, timeout=20)


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        ("rate_bps=999", "rate_bps", "'999'"),
        ("rate_bps=50Mbit", "rate_bps", "'50Mbit'"),
        ("rate_bps=-1", "rate_bps", "'-1'"),
        ("rate_bps=", "rate_bps", "''"),
        ("rate_bps=99999999999999999999", "rate_bps", "'99999999999999999999'"),
        ("delay_ns=1.5", "delay_ns", "'1.5'"),
        ("delay_ns=600000000001", "delay_ns", "'600000000001'"),
        ("loss=1.01", "loss", "'1.01'"),
        ("loss=-0.1", "loss", "'-0.1'"),
        ("loss=nan", "loss", "'nan'"),
        ("loss=0.1%", "loss", "'0.1%'"),
        ("queue_bytes=1e6", "queue_bytes", "'1e6'"),
        ("jitter_ns=-1", "jitter_ns", "'-1'"),
        ("jitter=gauss", "jitter", "normal uniform"),
        ("reorder=2", "reorder", "'2'"),
        ("burst_enter=2", "burst_enter", "'2'"),
        ("duplicate=-1", "duplicate", "'-1'"),
        ("corrupt=2", "corrupt", "'2'"),
        ("queue_packets=many", "queue_packets", "'many'"),
        ("discipline=cod", "discipline", "droptail codel fq_codel"),
        ("ecn=yes", "ecn", "'yes'"),
        ("blackhole=", "blackhole", "''"),
        ("jitters_ns=1", "jitters_ns", "'1'"),
        ("trace=/nonexistent", "trace", "/nonexistent"),
        ("trace=/dev/zero", "trace", "no regular file"),
        ("rate_bps=1000000,loss", "'loss'", "key=value"),
        ("rate_bps=1000000,", "''", "key=value"),
        ("delay_ns=" + "0" * 6000, "spec", "too long"),
    ],
)
@pytest.mark.parametrize("option", ["--a-to-b", "--b-to-a"])
def test_bad_spec_is_refused_with_its_field_and_value(relay, tmp_path, option, spec, field, value):
    done = run(relay, tmp_path, extra=[option, spec])
    assert done.returncode == 2
    assert option in done.stderr and field in done.stderr and value in done.stderr
    assert done.stderr.count("\n") == 1
    assert_nothing_left(done, tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "0 ms"),
        ("0\n0\n", "0 ms"),
        ("1\n\n2\n", "line 2"),
        ("1\nx\n", "line 2"),
        ("1\n-2\n", "line 2"),
        ("5\n4\n", "line 2: 4 comes after 5"),
        ("1\n99999999999999999999\n", "line 2"),
    ],
)
def test_bad_trace_is_refused_with_its_line(relay, tmp_path, text, complaint):
    trace = tmp_path / "trace"
    trace.write_text(text)
    done = run(relay, tmp_path, extra=["--a-to-b", f"rate_bps=1000000,trace={trace}"])
    assert done.returncode == 2
    assert str(trace) in done.stderr and complaint in done.stderr
    trace.unlink()
    assert_nothing_left(done, tmp_path)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--name", None),
        ("--name", ""),
        ("--name", 'quo"te'),
        ("--a", None),
        ("--a", ""),
        ("--a", "sixteen-letters-"),
        ("--a", "with space"),
        ("--b", "a/b"),
        ("--b", "fp-test-a"),
        ("--a", "fp-test-a@0"),
        ("--a", "fp-test-a@self"),
        ("--b", "@1"),
        ("--mtu", "67"),
        ("--mtu", "1500B"),
        ("--a-mac", "02:00:00:00:00"),
        ("--b-mac", "01:00:00:00:00:01"),
        ("--b-mac", "02:00:00:00:00:01 "),
        ("--control", None),
        ("--seed", "x"),
        ("--seed", "18446744073709551616"),
    ],
)
def test_bad_option_is_refused_by_name(relay, tmp_path, option, value):
    done = run(relay, tmp_path, replace={option: value})
    assert done.returncode == 2
    assert option in done.stderr
    assert_nothing_left(done, tmp_path)


@pytest.mark.parametrize("extra", [["--frobnicate"], ["stray"]])
def test_unknown_argument_is_refused(relay, tmp_path, extra):
    done = run(relay, tmp_path, extra=extra)
    assert done.returncode == 2
    assert extra[0].lstrip("-") in done.stderr
    assert_nothing_left(done, tmp_path)


@pytest.mark.parametrize("path", ["/nonexistent/folder/control", "/tmp/" + "x" * 120])
def test_impossible_control_path_is_exit_3(relay, tmp_path, path):
    done = run(relay, tmp_path, replace={"--control": path})
    assert done.returncode == 3
    assert path in done.stderr
    assert_nothing_left(done, tmp_path)


def test_help_teaches(relay):
    done = subprocess.run([relay, "--help"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0
    taught = [
        "rate_bps=",
        "delay_ns=",
        "loss=",
        "queue_bytes=",
        "trace=",
        "burst_enter=",
        "corrupt=",
        "nanoseconds",
        "Example",
        "--seed",
        "stats",
        "namespace",
    ]
    assert [word for word in taught if word not in done.stdout] == []


def test_binary_that_is_not_built_says_how_to_build_it():
    with pytest.raises(MissingCapability, match=r"no-such-program(.|\n)*make setup"):
        native.binary("no-such-program")


def assert_nothing_left(done, tmp_path):
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []
    assert not Path("/sys/class/net/fp-test-a").exists()
    assert not Path("/sys/class/net/fp-test-b").exists()
