"""The tunnel's configuration: each mistake is found before anything starts, and named with its line."""

import subprocess
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import native

GOOD = """\
[tunnel]
device = "mpt0"
addresses = ["10.99.0.1/24", "fd99::1/64"]
key_file = "key"
[[path]]
local = "192.0.2.1"
remote = "192.0.2.2"
[[path]]
name = "second"
local = '2001:db8::1'
remote = '2001:db8::2'
weight = 2.5
"""


@pytest.fixture
def check(tmp_path):
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_text("0123456789abcdef\n")

    def run(text: str | bytes, name: str = "tunnel.toml") -> tuple[int, str]:
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = subprocess.run([native.binary("mptgre"), "check", file], capture_output=True, text=True, timeout=10)
        return done.returncode, (done.stdout + done.stderr).replace(f"{tmp_path}/", "")

    return run


def test_a_good_file_is_good(check):
    assert check(GOOD) == (0, "tunnel.toml: good; 2 paths\n")


ALL = """\
# every setting
[tunnel]
device = "mpt0"         # a name
addresses = [
    "10.99.0.1/24",
    'fd99::1/64',       # the last comma is allowed
]
key_file = "key"
port = 23_456
mtu = 1400
clamp_mss = true
offloads = false
control = "/run/mpt0"
[scheduling]
scheduler = "rtt"
run = 16
weights = "adaptive"
[reordering]
mode = "fixed"
window = 4096
max_delay_ms = 50.5
[keepalive]
enabled = true
interval_ms = 1e1
dead_ms = 100
recover = 1
[[ path ]]
name = "a"
local = "192.0.2.1"
remote = "192.0.2.2"
device = "eth0"
weight = 1
backup = true
enabled = false
"""


def test_every_setting_is_known(check):
    assert check(ALL)[0] == 0
    assert tomllib.loads(ALL.replace("[[ path ]]", "[[path]]"))


MISTAKES = [
    ('device = "mpt0"', "devise = \"mpt0\"", 2, "unknown key 'devise'; did you mean 'device'?"),
    ('device = "mpt0"', 'device = "much-too-long-a-name"', 2, "is not an interface name"),
    ('device = "mpt0"', "device = 5", 2, "device must be a string"),
    ('device = "mpt0"', "", 1, "[tunnel] device is missing"),
    ('"10.99.0.1/24"', '"10.99.0.1"', 3, "'10.99.0.1' is not an address with its prefix length"),
    ('"10.99.0.1/24"', '"10.99.0.1/33"', 3, "is not an address with its prefix length"),
    ('"10.99.0.1/24"', "7", 3, "only strings are supported in an array"),
    ('key_file = "key"', "", 1, "key_file is missing"),
    ('key_file = "key"', 'key_file = "nothing"', 1, "cannot read 'nothing': No such file"),
    ('key_file = "key"', 'key_file = "key"\nport = 65536', 5, "port: 65536 is not from 1 to 65535"),
    ('key_file = "key"', 'key_file = "key"\nport = 1.5', 5, "port must be a whole number"),
    ('key_file = "key"', 'key_file = "key"\nmtu = 1000', 1, "IPv6 inside needs at least 1280"),
    ('key_file = "key"', 'key_file = "key"\nclamp_mss = 1', 5, "clamp_mss must be true or false"),
    ('key_file = "key"', 'key_file = "key"\nkey_file = "other"', 5, "'key_file' is set already in line 4"),
    ("[tunnel]", "[tunel]", 1, "unknown table 'tunel'; did you mean 'tunnel'?"),
    ("[tunnel]", "[[tunnel]]", 1, "write [tunnel]: there is one"),
    ("[tunnel]", "weight = 1\n[tunnel]", 1, "'weight' stands before the first table"),
    ("[tunnel]", "[tunnel", 1, "']' is missing after 'tunnel'"),
    ("[tunnel]", "[tunnel] device", 1, "a new line is missing before 'd'"),
    ("[tunnel]", "[a.b]", 1, "a table's name with a dot is not supported here"),
    ("[[path]]\nlocal", "[path]\nlocal", 8, "the table 'path' is there already, in line 5"),
    ('local = "192.0.2.1"', 'local = "192.0.2.300"', 6, "'192.0.2.300' is not an IPv4 or IPv6 address"),
    ('local = "192.0.2.1"', 'local = "2001:db8::9"', 5, "local and remote are of different families"),
    ('local = "192.0.2.1"', 'local = "192.0.2.2"', 5, "local and remote are the same address"),
    ('local = "192.0.2.1"', "", 5, "local is missing"),
    ('local = "192.0.2.1"', "local = ", 6, "a value is missing"),
    ('local = "192.0.2.1"', 'local = "192', 6, "the string does not end on its line"),
    ('local = "192.0.2.1"', 'local "192.0.2.1"', 6, "'=' is missing after 'local'"),
    ('local = "192.0.2.1"', "local = 192.0.2.1", 6, "'192.0.2.1' is not a number"),
    ('local = "192.0.2.1"', "local = 2024-01-01", 6, "is not a number"),
    ('local = "192.0.2.1"', "local = {a = 1}", 6, "an inline table is not supported"),
    ('local = "192.0.2.1"', '"local" = 1', 6, "a key in quotes is not supported"),
    ('local = "192.0.2.1"', 'local = """a"""', 6, "a string of several lines is not supported"),
    ('local = "192.0.2.1"', 'local = "\\u0041"', 6, "an escape other than"),
    ('name = "second"', 'name = "path1"', 8, "the name 'path1' is that of the path in line 5"),
    ('name = "second"', 'name = "a b"', 9, "must be 1 to 32 letters"),
    ("weight = 2.5", "weight = 0", 12, "weight: 0 is not from 0.001"),
    ("weight = 2.5", "weight = nan", 12, "'nan' is no value"),
    ("weight = 2.5", "weight = 007", 12, "'007' is no value"),
    ("weight = 2.5", "weight = 1__0", 12, "'1__0' is no value"),
    ("weight = 2.5", "weight = 2.", 12, "'2.' is not a number"),
    ("weight = 2.5", "speed = 1", 12, "unknown key 'speed'; known are name, local, remote"),
    ("weight = 2.5", '[scheduling]\nscheduler = "best"', 13, "scheduler: 'best' is unknown; choose one of wrr, rtt"),
    ("weight = 2.5", "[keepalive]\nenabled = false\n[scheduling]\nscheduler = 'rtt'", 14, "needs keepalives"),
    ("weight = 2.5", "[scheduling]\nscheduler = 'redundant'\n[reordering]\nmode = 'off'", 14, "known by its number"),
    ("weight = 2.5", "[keepalive]\ndead_ms = 150", 12, "dead_ms must be at least twice interval_ms"),
    ("weight = 2.5", "[[path]]\nlocal = '192.0.2.1'\nremote = '192.0.2.2'", 12, "has the addresses of the path"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "instead", "line", "said"), MISTAKES, ids=[each[3] for each in MISTAKES])
def test_a_mistake_is_named_with_its_line(check, part, instead, line, said):
    assert part in GOOD
    code, told = check(GOOD.replace(part, instead, 1))
    assert code == 2
    assert any(each.startswith(f"tunnel.toml:{line}: ") and said in each for each in told.splitlines()), told


def test_all_mistakes_are_named_at_once(check):
    text = GOOD.replace('"mpt0"', '"a/b"').replace("2.5", "-1").replace("192.0.2.2", "x")
    assert len(check(text)[1].splitlines()) == 3


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620])
def test_a_key_that_others_may_read_is_refused(check, tmp_path, mode):
    (tmp_path / "key").chmod(mode)
    code, told = check(GOOD)
    assert code == 2 and "others may read or change the key file" in told and "chmod 600" in told


def test_a_short_key_is_refused(check, tmp_path):
    (tmp_path / "key").write_text("0123456789abcde\n")
    code, told = check(GOOD)
    assert code == 2 and "less than 16 bytes" in told


@pytest.mark.parametrize(
    "text", [b"\0" * 100, b"\xff\xfe[", b"[[", b"a", b"=", b'a="\\', b"x" * 70_000, b"a=[" + b"'b'," * 9000]
)
def test_nonsense_is_refused(check, text):
    code, told = check(text)
    assert code == 2 and told.startswith("tunnel.toml:1: ")


@settings(max_examples=60, deadline=None)
@given(
    port=st.integers(1, 65535),
    weight=st.floats(0.001, 1e6).filter(lambda number: "e" not in repr(number)),
    comment=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
    blanks=st.text(" \t", max_size=4),
)
def test_what_is_understood_is_toml(tmp_path_factory, port, weight, comment, blanks):
    folder = tmp_path_factory.mktemp("toml")
    text = f"{GOOD}{blanks}# {comment}\r\n[keepalive]{blanks}#{comment}\nenabled{blanks}={blanks}false\n"
    text = (
        text.replace("2.5", repr(weight))
        .replace("key_file", f"port ={blanks}{port:_}{blanks}\n#")
        .replace('"key"\n', "\n")
    )
    assert tomllib.loads(text)["path"][1]["weight"] == weight
    (folder / "tunnel.toml").write_bytes(text.encode())
    argv = [native.binary("mptgre"), "check", folder / "tunnel.toml"]
    assert subprocess.run(argv, capture_output=True, timeout=10).returncode == 0


@pytest.mark.parametrize("argv", [[], ["run"], ["check"], ["status", "x", "--yaml"], ["set", "x", "y"], ["fly", "x"]])
def test_wrong_usage_is_told(argv):
    done = subprocess.run([native.binary("mptgre"), *argv], capture_output=True, text=True, timeout=10)
    assert done.returncode == 2 and "usage: mptgre" in done.stderr


def test_a_tunnel_that_does_not_run_is_not_asked(check, tmp_path):
    check(GOOD.replace("[tunnel]", f'[tunnel]\ncontrol = "{tmp_path}/nobody"'))
    argv = [native.binary("mptgre"), "status", tmp_path / "tunnel.toml"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=10)
    assert done.returncode == 1 and "no tunnel answers" in done.stderr
