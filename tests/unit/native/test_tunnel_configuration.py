"""The tunnel's configuration: each mistake is found before anything starts, and named with its line."""

import string

import pytest

import native
from tests.support.finished import finished

GOOD = """\
[tunnel]
device = mpt0
addresses = 10.99.0.1/24, fd99::1/64
key_file = key
[path]
local = 192.0.2.1
remote = 192.0.2.2
[path]
name = second
local = 2001:db8::1
remote = 2001:db8::2
weight = 2.5
"""


@pytest.fixture
def check(tmp_path):
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_text("0123456789abcdef\n")

    def run(text: str) -> tuple[int, str]:
        (tmp_path / "tunnel.conf").write_text(text)
        done = finished([native.binary("mptgre"), "check", tmp_path / "tunnel.conf"], errors="replace", timeout=10)
        return done.returncode, (done.stdout + done.stderr).replace(f"{tmp_path}/", "")

    return run


OTHER_VALUES = {
    "key_file = tunnel.key": "key_file = key#1",
    "fd99::1/64": "fd99::1/64 ,",
    "port = 4754": "port=23456",
    "clamp_mss =": "  clamp_mss =",
    "offloads = true": "offloads = 0",
    "service_time_us = 0": "service_time_us = 2.7",
    "scheduler = wrr": "scheduler = rtt",
    "run = 0": "run = 16",
    "mode = adaptive": "mode = fixed",
    "enabled = true": "enabled = 1",
    "interval_ms = 100": "interval_ms = 1e1",
    "[path]": "[ path ]",
    "backup = false": "backup = true",
}


def test_every_setting_of_the_help_is_known_with_the_value_there_and_others(check, tmp_path):
    text = finished([native.binary("mptgre"), "--help"], timeout=10).stdout
    example = text[text.index("  [tunnel]") : text.index("\n\nThe device")]
    assert check(example.replace("tunnel.key", "key")) == (0, "tunnel.conf: good; 1 path\n")
    (tmp_path / "key").rename(tmp_path / "key#1")
    for value, other in OTHER_VALUES.items():
        assert value in example
        example = example.replace(value, other)
    assert check(example) == (0, "tunnel.conf: good; 1 path\n")


MISTAKES = [
    ("device = mpt0", "devise = mpt0", 2, "unknown key 'devise': known are device, addresses"),
    ("device = mpt0", "device = much-too-long-a-name", 2, "is not an interface name"),
    ("device = mpt0", "dev\x1b[31m = 1", 2, "unknown key 'dev?[31m'"),  # no control characters go to a terminal
    ("device = mpt0", "", 1, "[tunnel] device is missing"),
    ("10.99.0.1/24", "10.99.0.1", 3, "addresses with prefix lengths"),
    ("10.99.0.1/24", "10.99.0.1/33", 3, "addresses with prefix lengths"),
    ("10.99.0.1/24", ", ".join(["10.99.0.1/24"] * 8), 3, "a list of at most 8 addresses"),
    ("10.99.0.1/24", "10.99.0.1/24" + "," * 500, 3, "a list of at most 8 addresses"),
    ("key_file = key", "", 1, "key_file is missing"),
    ("key_file = key", "key_file =", 4, "key_file: '' is not a text of 1 to 1023 characters"),
    ("key_file = key", "key_file = nothing", 1, "cannot read 'nothing': No such file"),
    ("key_file = key", f"key_file = key\ncontrol = /{'c' * 107}", 5, "is not a text of 1 to 107 characters"),
    ("key_file = key", "key_file = key\nport = 65536", 5, "port: '65536' is not a whole number from 1 to 65535"),
    ("key_file = key", "key_file = key\nmtu = 575", 5, "mtu: '575' is not a whole number from 576 to 65535"),
    ("key_file = key", "key_file = key\nmtu = 1000", 1, "an IPv6 address needs at least 1280"),
    ("key_file = key", "key_file = key\nservice_time_us = -1", 5, "'-1' is not a number from 0 to 10000"),
    ("[tunnel]", "[tunel]", 1, "unknown section [tunel]: known are tunnel, scheduling"),
    ("[tunnel]", "weight = 1\n[tunnel]", 1, "'weight' stands before the first section"),
    ("[tunnel]", "[tunnel", 1, "']' is missing at the end of '[tunnel'"),
    ("[path]\nlocal", "[tunnel]\nlocal", 5, "[tunnel] is already in line 1"),
    ("local = 192.0.2.1", "local = 192.0.2.300", 6, "'192.0.2.300' is not an IPv4 or IPv6 address"),
    ("local = 192.0.2.1", "local = 2001:db8::9", 5, "local and remote are of different families"),
    ("local = 192.0.2.1", "local = 192.0.2.2", 5, "local and remote are the same address"),
    ("local = 192.0.2.1", "", 5, "local is missing"),
    ("local = 192.0.2.1", "local 192.0.2.1", 6, "'=' is missing after 'local 192.0.2.1'"),
    ("local = 192.0.2.1", "local = 192.0.2.1 # a\nlocal = b", 7, "'local' is already set in line 6"),
    ("name = second", "name = path1", 8, "the path in line 5 is called 'path1', too"),
    ("name = second", "name = a b", 9, "is not a name of 1 to 32 letters"),
    ("weight = 2.5", "weight = 0", 12, "weight: '0' is not a number from 0.001 to 1000000"),
    ("weight = 2.5", "[scheduling]\nscheduler = best", 13, "scheduler: 'best' is not one of: wrr rtt"),
    ("weight = 2.5", "[keepalive]\nenabled = false\n[scheduling]\nscheduler = rtt", 14, "needs keepalives"),
    ("weight = 2.5", "[keepalive]\nenabled = false\n[scheduling]\nweights = adaptive", 14, "needs keepalives"),
    ("weight = 2.5", "[scheduling]\nscheduler = redundant\n[reordering]\nmode = off", 14, "sequence numbers identify"),
    ("weight = 2.5", "[keepalive]\ndead_ms = 150", 12, "dead_ms must be at least twice interval_ms"),
    ("weight = 2.5", "[keepalive]\nanswer_plain = true\ndead_ms = 2000", 12, "answer_plain needs enabled = false"),
    ("weight = 2.5", "[keepalive]\nenabled = false\nanswer_plain = 1", 12, "answer_plain needs dead_ms = 2000"),
    ("weight = 2.5", "[path]\nlocal = 192.0.2.1\nremote = 192.0.2.2", 12, "has the addresses of the path"),
    ("weight = 2.5", "[path]\n" * 15, 26, "more than 16 paths"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "instead", "line", "words"), MISTAKES, ids=[each[3] for each in MISTAKES])
def test_a_mistake_is_named_with_its_line(check, part, instead, line, words):
    assert part in GOOD
    code, output = check(GOOD.replace(part, instead, 1))
    assert code == 2
    assert any(each.startswith(f"tunnel.conf:{line}: ") and words in each for each in output.splitlines()), output


def test_all_mistakes_are_named_at_once(check):
    text = GOOD.replace("mpt0", "a/b").replace("2.5", "-1").replace("192.0.2.2", "x").replace("fd99::1/64", "fd99::1")
    assert len(check(text.replace("name =", "name").replace("[path]", "[path", 1))[1].splitlines()) == 5


@pytest.mark.parametrize(
    ("mode", "key_bytes", "words"),
    [(0o604, 16, "others may read"), (0o640, 16, "others may read"), (0o620, 16, "chmod 600"), (0o600, 15, "16 bytes")],
)
def test_a_key_that_others_may_read_or_guess_is_refused(check, tmp_path, mode, key_bytes, words):
    (tmp_path / "key").write_text("k" * key_bytes + "\n")
    (tmp_path / "key").chmod(mode)
    code, output = check(GOOD)
    assert code == 2 and words in output


@pytest.mark.parametrize("comment", ["", "# = [path]", string.punctuation, "\t'\"x=1"])
@pytest.mark.parametrize(("blanks", "port", "weight"), [("", 1, 0.001), (" ", 65535, 1e6), ("\t ", 80, 1 / 3)])
def test_comments_blanks_and_either_end_of_a_line_are_allowed(check, comment, blanks, port, weight):
    text = (
        f"[tunnel]\ndevice={blanks}mpt0\nport{blanks}={blanks}{port}{blanks}\n# {comment}\r\n[keepalive] #{comment}\n"
        f"enabled{blanks}={blanks}false\n\n[path]\nlocal = ::1\nremote = ::2 # {comment}\nweight = {weight!r}\r\n"
    )
    assert check(text) == (0, "tunnel.conf: good; 1 path\n")


@pytest.mark.parametrize("argv", [[], ["run"], ["check"], ["status", "x", "--yaml"], ["set", "x", "y"], ["fly", "x"]])
def test_wrong_usage_is_told(argv):
    done = finished([native.binary("mptgre"), *argv], timeout=10)
    assert done.returncode == 2 and "usage: mptgre" in done.stderr


def test_a_tunnel_that_does_not_run_is_not_asked(check, tmp_path):
    check(GOOD.replace("[tunnel]", f"[tunnel]\ncontrol = {tmp_path}/nobody"))
    done = finished([native.binary("mptgre"), "status", tmp_path / "tunnel.conf"], timeout=10)
    assert done.returncode == 1 and "nothing answers" in done.stderr


@pytest.mark.parametrize("length", range(1, 12))
def test_of_more_mistakes_than_fit_only_whole_lines_are_told(check, length):
    code, told = check(f"{'x' * length} = y\n" * 2000)
    assert code == 2
    for number, line in enumerate(told.splitlines(), start=1):
        assert line == f"tunnel.conf:{number}: '{'x' * length}' stands before the first section"
