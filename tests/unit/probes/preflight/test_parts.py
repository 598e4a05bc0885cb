"""The parts of preflight that need no network: specifications, replies, curves, limits, other programs' output."""

import dataclasses
import json
import shlex
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paramiko import ECDSAKey
from paramiko.ssh_exception import SSHException

from flightpath import tcp_info
from flightpath.errors import FlightpathError, UsageError
from flightpath.project import PROJECT
from probes.preflight.commands.measure import line, parser, specification
from probes.preflight.measure import iperf3
from probes.preflight.measure.measurement import limited_by
from probes.preflight.records import ClientLoad, LimitedBy, PreflightResult, Status
from probes.preflight.sockets import Address
from probes.preflight.spec import DEFAULT_TIME_LIMIT_S, Connections, Direction, Family, TransferSpec
from probes.preflight.ssh import host_keys
from probes.preflight.ssh.host_keys import HostKeyRefused, KnownKey
from probes.preflight.ssh.login import Credential
from probes.preflight.ssh.sftp import reason
from probes.preflight.target import Target, parse_configuration, resolve
from probes.preflight.transfer.curve import CurveRecorder, TransferCurve, aggregate, intervals
from probes.preflight.transfer.read_ahead import ReadAhead
from probes.preflight.transfer.sftp_stream import ReplyParser
from tests.support.preflight_made_up import stream

TARGET = Target("dtn", "me", "dtn.example.org", 22)
MS = 1_000_000


# What is asked for


def test_options_and_json_make_the_specification(tmp_path):
    words = "me@dtn 'run 7.tar' -P 4 --one-connection --no-route -6 --iperf3=5000 --to x -n2"
    numbers = "--size 2GB --time 2min --rate 10Gbit --window-clamp 64KiB --mss 1400"
    made = specification(parser().parse_args(shlex.split(f"{words} {numbers}")))
    assert made == TransferSpec(
        remote_file="run 7.tar", streams=4, connections=Connections.ONE, route=False, family=Family.IPV6,
        iperf3_port=5000, sink="x", iterations=2, size_bytes=2_000_000_000, time_limit_s=120,
        rate_limit_bps=10_000_000_000, window_clamp_bytes=65536, mss_bytes=1400,
    )  # fmt: skip
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(dataclasses.asdict(made)))
    assert specification(parser().parse_args(["dtn", "--spec", str(file)])) == made
    file.write_text('{"streams": "three"}')
    with pytest.raises(UsageError, match="--spec"):
        specification(parser().parse_args(["dtn", "--spec", str(file)]))
    known = {action.dest for action in parser()._actions}
    assert {field.name for field in dataclasses.fields(TransferSpec)} <= known, "each field has an option"


@pytest.mark.parametrize(
    ("texts", "option"),
    [
        ({"streams": "65"}, "--streams"),
        ({"streams": "many"}, "--streams"),
        ({"size_bytes": "2 apples"}, "--size"),
        ({"time_limit_s": "soon"}, "--time"),
        ({"rate_limit_bps": "fast"}, "--rate"),
        ({"mss_bytes": "9"}, "--mss"),
        ({"direction": "sideways"}, "direction: 'sideways'"),
        ({"sink": "/tmp/file"}, "--to"),
        ({"sink": "/tmp/file", "direction": "upload", "size_bytes": "1MB"}, "--to"),
        ({"remote_file": "there", "direction": "upload"}, "upload"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_nonsense_is_refused_by_its_option(texts, option):
    with pytest.raises(UsageError, match=option):
        TransferSpec.parse(texts)


def test_only_a_transfer_without_size_and_limit_gets_one():
    assert TransferSpec().duration_limit_s == DEFAULT_TIME_LIMIT_S
    assert TransferSpec(time_limit_s=3).duration_limit_s == 3
    for limits in ({"size_bytes": 1}, {"remote_file": "data"}, {"byte_limit": 1}):
        assert TransferSpec(**limits).duration_limit_s is None


# What ssh(1) says of a host

_TOLD = """\
user me
hostname dtn.example.org
port 2022
addressfamily inet6
hashknownhosts yes
identitiesonly yes
stricthostkeychecking accept-new
identityfile ~/.ssh/id_%r
identityfile /keys/%%odd
globalknownhostsfile /etc/ssh/ssh_known_hosts
userknownhostsfile /home/me/.ssh/known_hosts "/home/me/with space"
identityagent none
hostkeyalias cluster
revokedhostkeys ~/.ssh/%h.revoked
"""


def test_an_invalid_configuration_is_an_error_in_the_words_of_ssh(tmp_path):
    file = tmp_path / "config"
    file.write_text("Nonsense yes\n")
    with pytest.raises(UsageError) as error:
        resolve("dtn", configuration=str(file))
    assert error.value.args[0].startswith(f"dtn: {file}: line 1: Bad configuration option")


def test_configuration_is_read_as_ssh_prints_it(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    found = parse_configuration("dtn", _TOLD)
    assert found.target == Target(
        "dtn", "me", "dtn.example.org", 2022,
        identity_files=("/home/me/.ssh/id_me", "/keys/%odd"),
        known_hosts_files=("/home/me/.ssh/known_hosts", "/home/me/with space", "/etc/ssh/ssh_known_hosts"),
        host_key_name="cluster", identities_only=True, identity_agent="none",
    )  # fmt: skip
    assert (found.accept_new, found.hash_names, found.family) == (True, True, "inet6")
    assert found.revoked_keys_files == ("/home/me/.ssh/dtn.example.org.revoked",)
    assert parse_configuration("dtn", _TOLD.replace("~/.ssh/%h.revoked", "none")).revoked_keys_files == ()


@pytest.mark.parametrize(
    ("setting", "proxy", "only"),
    [
        ("proxycommand nc --password secret %h %p", "ProxyCommand", "ProxyCommand"),
        ("certificatefile ~/.ssh/dtn-cert.pub", "", "CertificateFile"),
        ("pkcs11provider /usr/lib/token.so", "", "PKCS11Provider"),
        ("pkcs11provider none", "", ""),
    ],
)
def test_settings_that_only_ssh_understands(setting, proxy, only):
    found = parse_configuration("dtn", f"{_TOLD}{setting}\n")
    assert (found.target.proxy, found.only_openssh) == (proxy, only)


def test_options_reach_ssh_as_they_reached_its_configuration(tmp_path):
    file = tmp_path / "config"
    file.write_text("Host dtn\n    ProxyJump gate\n")
    found = resolve("me@dtn", port=2022, configuration=str(file))
    assert found.ssh_options == ("-F", str(file), "-p", "2022", "-l", "me")
    assert found.only_openssh == "ProxyJump gate"


def test_host_keys():
    key, other = ECDSAKey.generate(), ECDSAKey.generate()

    def known(made, marker=""):
        return KnownKey(made.get_name(), made.get_base64(), marker, "file")

    assert host_keys.check(TARGET, key, [known(key)])
    assert host_keys.check(TARGET, key, [known(other), known(key)])
    assert not host_keys.check(TARGET, key, [])
    assert not host_keys.check(TARGET, key, [known(other, "@cert-authority")])
    with pytest.raises(HostKeyRefused, match="CHANGED"):
        host_keys.check(TARGET, key, [known(other)])
    with pytest.raises(HostKeyRefused, match="revoked"):
        host_keys.check(TARGET, key, [known(key), known(key, "@revoked")])


def test_known_hosts_are_found_as_ssh_finds_them_and_added_once_more(tmp_path):
    key, other = ECDSAKey.generate(), ECDSAKey.generate()
    file = tmp_path / "known hosts"
    target = dataclasses.replace(TARGET, port=2222, known_hosts_files=(str(file),))
    assert host_keys.look_up(target) == []
    file.write_text(f"# mine\nelse ecdsa-sha2-nistp256 {other.get_base64()}")  # its last line has no end
    for hash_name in (False, True):
        host_keys.add(target, key, hash_name=hash_name)
    _, _, plain, hashed = file.read_text().splitlines()
    assert plain.startswith("[dtn.example.org]:2222 ") and hashed.startswith("|1|")
    assert [each.key for each in host_keys.look_up(target)] == [key.get_base64()] * 2
    file.write_text(f"[*.example.org]:2222 ecdsa-sha2-nistp256 {other.get_base64()}\n")
    assert [each.key for each in host_keys.look_up(target)] == [other.get_base64()]


def test_known_types_are_asked_for_first():
    known, offered = [KnownKey("ssh-rsa", "", "", "")], ("ssh-ed25519", "rsa-sha2-256", "rsa-sha2-512")
    assert host_keys.preferred_algorithms(known, offered) == ["rsa-sha2-512", "rsa-sha2-256", "ssh-ed25519"]


# What arrives


def _data(request, body):
    return struct.pack(">IBII", 9 + len(body), 103, request, len(body)) + body


def _status(request, code, text):
    told = text.encode()
    body = struct.pack(">BIII", 101, request, code, len(told)) + told + struct.pack(">I", 0)
    return struct.pack(">I", len(body)) + body


class Heard(list):
    """What the replies were taken for, in their order: what begins, with its bytes after it, and statuses."""

    def __init__(self):
        self.parser = ReplyParser(lambda *begun: self.extend([begun, b""]), self._add, lambda *told: self.append(told))

    def _add(self, view):
        self[-1] += bytes(view)


@given(
    st.lists(st.one_of(st.binary(max_size=60), st.tuples(st.integers(0, 9), st.text(max_size=9))), max_size=8),
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
)
def test_replies_are_the_same_however_they_are_cut(wanted, cuts):
    stream = b"".join(
        _data(number, each) if isinstance(each, bytes) else _status(number, *each) for number, each in enumerate(wanted)
    )
    heard, expected, at = Heard(), [], 0
    while at < len(stream):
        size = cuts[at % len(cuts)]
        heard.parser.feed(memoryview(stream)[at : at + size])
        at += size
    for number, each in enumerate(wanted):
        expected += [(number, len(each)), each] if isinstance(each, bytes) else [(number, *each)]
    assert heard == expected


@given(st.binary(min_size=9, max_size=200))
def test_garbage_is_an_ssh_error_and_nothing_else(garbage):
    heard = Heard()
    try:
        heard.parser.feed(memoryview(garbage))
    except SSHException:
        return
    assert garbage[4] in (101, 103)  # it looked like a reply


def test_data_that_lies_about_its_length_is_refused():
    with pytest.raises(SSHException, match="bytes"):
        Heard().parser.feed(memoryview(struct.pack(">IBII", 9 + 5, 103, 1, 6)))


# When it arrived


@given(st.lists(st.tuples(st.integers(1, 100_000), st.integers(0, 50 * MS)), min_size=1, max_size=200))
def test_a_curve_keeps_total_first_and_last(pieces):
    log, now = CurveRecorder(), 1000
    for size, gap in pieces:
        now += gap
        log.add(size, now)
    curve = log.curve()
    assert curve.total == log.total == sum(size for size, _ in pieces)
    assert curve.first_ns == 1000 + pieces[0][1]
    assert curve.last_ns == now
    assert list(curve.times_ns) == sorted(set(curve.times_ns))


def test_a_curve_of_an_hour_takes_bounded_memory_and_stays_true():
    log = CurveRecorder()
    for step in range(360_000):
        log.add(1000, step * 10 * MS + 1)
    curve = log.curve()
    assert len(curve.times_ns) <= 4097
    assert curve.at(1_800_000 * MS + 1) == pytest.approx(180_001_000, rel=1e-3)


def _even(begin_ms, end_ms, bytes_per_ms):
    times = tuple(ms * MS for ms in range(begin_ms, end_ms + 1))
    return TransferCurve(times, tuple(bytes_per_ms * (index + 1) for index in range(len(times))))


@pytest.mark.parametrize(
    ("megabits", "round_trip_ms", "mptcp", "streams", "ahead_kb"),
    [
        ([], 10, False, 1, None),  # nothing has been seen of the path
        ([100, 200, 400, 800], 10, False, 1, 5 * 1000),  # slow start
        ([100, 200, 400, 800], 20, False, 1, 5 * 1000),  # of which half waits in a queue already
        ([800, 960, 970, 980], 10, False, 1, 2 * 1225),  # no longer
        ([980] * 4, 10, False, 4, 1049),
        ([980] * 4, 20, False, 1, 2 * 2450),  # half of it in a queue
        ([980] * 4 + [100] * 9, 10, False, 1, 2 * 1225),
        ([980] * 4 + [100] * 10, 10, False, 1, 1049),
        ([980] * 4 + [0] * 10 + [100], 10, False, 1, 4194),  # a disk that hung
        ([980] * 4 + [100] * 10, 10, True, 1, 4194 + 5 * 1225),
    ],
)
def test_the_read_ahead_follows_the_path_and_shrinks(megabits, round_trip_ms, mptcp, streams, ahead_kb):
    read_ahead, total, ahead = ReadAhead(streams, mptcp=mptcp), 0, None
    times = round_trip_ms / 1e3, 0.01
    assert read_ahead.next(0.0, 0, *times) is None
    for number, rate in enumerate(megabits, 1):
        total += round(rate * 1e6 / 8 * 0.05)
        assert read_ahead.next(0.05 * (number - 1) + 0.9 * times[0], total, *times) is None  # less than a round trip
        ahead = read_ahead.next(0.05 * number, total, *times)
    assert ahead == (ahead_kb and pytest.approx(1000 * ahead_kb, rel=0.001))


def test_goodput_is_that_of_the_time_in_which_all_streams_were_at_it():
    together = aggregate([_even(0, 1000, 1000), _even(500, 2000, 3000)], 0.5)
    assert together.overlap_s == pytest.approx(0.5)
    assert together.transfer_s == pytest.approx(2.0)
    assert together.goodput_bps == pytest.approx(4000 * 8 * 1000, rel=1e-6)
    assert sum(each.bytes for each in together.intervals) == 1001 * 1000 + 1501 * 3000
    # Streams that never overlap are taken over the whole time.
    apart = aggregate([_even(0, 100, 1000), _even(900, 1000, 1000)], 0.5)
    assert apart.overlap_s == 0
    assert apart.goodput_bps == pytest.approx((201 * 1000) * 8 / 1.0, rel=1e-6)


def test_the_first_bytes_came_before_the_clock_started():
    at_once = aggregate([TransferCurve((5,), (1000,))], 0.5)
    assert at_once.goodput_bps is None
    assert [each.bytes for each in at_once.intervals] == [1000]
    later = TransferCurve((0, 1000 * MS), (5_000_000, 6_000_000))
    assert aggregate([later], 1).goodput_bps == pytest.approx(8_000_000)


def test_short_rest_belongs_to_the_interval_before():
    found = intervals([_even(0, 1100, 1)], 0, 1100 * MS, 0.5)
    assert [(each.start_s, each.end_s) for each in found] == [(0.0, 0.5), (0.5, 1.1)]


# What limited it


@pytest.mark.parametrize(
    ("limit_bps", "load", "verdict"),
    [
        (None, {"cpu_s": 0.89, "network_s": 0.11}, LimitedBy.OK),
        (None, {"cpu_s": 0.91, "network_s": 0.09}, LimitedBy.CLIENT_LIMITED),
        (None, {"cpu_s": 0.3, "queued_s": 0.65, "network_s": 0.05}, LimitedBy.CLIENT_LIMITED),
        (None, {"cpu_s": 0.95, "cipher_s": 0.6, "network_s": 0.05}, LimitedBy.CIPHER_LIMITED),
        (None, {"cpu_s": 0.2, "disk_s": 0.75, "network_s": 0.05}, LimitedBy.DISK_LIMITED),
        (None, {"cpu_s": 0.2, "disk_s": 0.4, "network_s": 0.4}, LimitedBy.OK),
        (1_000_000, {"network_s": 1.0}, LimitedBy.RATE_LIMITED),
        (2_000_000, {"network_s": 1.0}, LimitedBy.OK),
    ],
)
def test_a_stream_beside_one_that_only_waits_for_the_network(limit_bps, load, verdict):
    nothing = dict.fromkeys((field.name for field in dataclasses.fields(ClientLoad)), 0.0)
    loads = [ClientLoad(**{**nothing, **each}) for each in ({"network_s": 1.0}, load)]
    streams = [dataclasses.replace(stream(0, 8000.0), transfer_s=1.0, load=each) for each in loads]
    found, why = limited_by(TransferSpec(rate_limit_bps=limit_bps), streams, 990_000)
    assert found is verdict and why


# What others print


def test_tcp_info_of_kernels_old_and_new():
    words = list(range(100, 124))
    raw = bytes(8) + struct.pack("=24I", *words)
    found = tcp_info.parse(raw)  # Linux 2.6
    assert (found.rtt_us, found.cwnd, found.retransmissions, found.path_mtu) == (115, 118, 123, 113)
    assert (found.delivery_rate_bytes, found.out_of_order) == (None, None)
    newer = bytearray(raw + bytes(256 - len(raw)))
    struct.pack_into("=I", newer, 148, 77)
    struct.pack_into("=Q", newer, 160, 88)
    struct.pack_into("=I", newer, 224, 99)
    found = tcp_info.parse(bytes(newer))
    assert (found.minimum_rtt_us, found.delivery_rate_bytes, found.out_of_order) == (77, 88, 99)


def test_iperf3_measures_the_same():
    spec = TransferSpec(streams=4, iperf3_port=5201, congestion_control="cubic", receive_buffer_bytes=4096)
    words = iperf3.command(Address(2, "10.0.0.2", 22), spec, 7.6)
    assert words[1:] == [
        "--client", "10.0.0.2", "--port", "5201", "--json", "-4", "--time", "8", "--parallel", "4", "--reverse",
        "--congestion", "cubic", "--window", "4096",
    ]  # fmt: skip


def test_iperf3s_report_and_its_errors():
    told = {"start": {"version": "iperf 3.12"}, "end": {"sum_received": {"bits_per_second": 1e9, "seconds": 2.0}}}
    told["end"]["sum_sent"] = {"retransmits": 3}
    assert iperf3.parse(json.dumps(told), 2).goodput_bps == 1e9
    assert iperf3.parse('{"error": "unable to connect"}', 2).note == "unable to connect"
    for nonsense in ("", "{}", "[]", "no JSON"):
        found = iperf3.parse(nonsense, 2)
        assert found.goodput_bps is None and found.note


# What is told


def test_a_measurement_stored_by_an_earlier_version_is_read_and_written_again_to_the_byte():
    text = (PROJECT / "tests" / "data" / "preflight_upload.json").read_text()
    result = PreflightResult.from_json(text)
    assert result.to_json() == text
    assert (result.spec.direction, result.spec.connections) == (Direction.UPLOAD, Connections.ONE)
    assert len(result.iterations[0].streams) == 2 and result.verdict is LimitedBy.OK


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"format": 1}'])
def test_damaged_measurements_are_told_as_such_and_newer_ones_too(text):
    with pytest.raises(FlightpathError):
        PreflightResult.from_json(text)
    with pytest.raises(FlightpathError, match="newer version"):
        PreflightResult.from_json('{"format": 99}')


@pytest.mark.parametrize(
    ("path", "value"),
    [("file_bytes", "7"), ("target.port", True), ("spec.family", "5"), ("spec.colour", "red"), ("notes", "x")],
)
def test_wrong_types_in_a_measurement_are_noticed(path, value):
    damaged = json.loads(PreflightResult(TARGET, TransferSpec(), (), "now", 7).to_json())
    *outer, name = path.split(".")
    (damaged[outer[0]] if outer else damaged)[name] = value
    with pytest.raises(FlightpathError, match=rf"not a measurement of preflight: {path}: \S"):
        PreflightResult.from_json(json.dumps(damaged))


@pytest.mark.parametrize(
    ("status", "throughput_bps", "told"),
    [
        (Status("transferring", 2, 3, bytes=25_000_000, total_bytes=100_000_000, elapsed_s=2.0), 100e6,
         f"dtn 2/3 {'━' * 6}{'╌' * 18} 25 MB  100 Mbit/s  6 s left"),
        (Status("transferring", 1, 1, bytes=5, elapsed_s=2.5, limit_s=10.0), 8.0,
         f"dtn {'━' * 6}{'╌' * 18} 5 B  8 bit/s  7.5 s left"),
        (Status("connecting"), 0.0, "dtn: connecting …"),
    ],
)  # fmt: skip
def test_live_line_tells_throughput_and_time_left(status, throughput_bps, told):
    assert line("dtn", status, throughput_bps) == told


def test_an_error_without_a_text_gets_one_and_secrets_do_not_show():
    assert reason(EOFError()) == "the connection was closed"
    assert reason(OSError("no room")) == "no room"
    assert "hunter2" not in repr(Credential("password", secret="hunter2"))
