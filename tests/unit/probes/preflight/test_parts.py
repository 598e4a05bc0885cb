"""The parts of preflight that need no network: specifications, limits, other programs' output, what is told."""

import dataclasses
import json
import shlex
import struct

import pytest

from flightpath import tcp_info
from flightpath.errors import FlightpathError, UsageError
from flightpath.project import PROJECT
from probes.preflight.commands.measure import line, parser, specification
from probes.preflight.measure import iperf3
from probes.preflight.measure.measurement import limited_by
from probes.preflight.records import ClientLoad, LimitedBy, PreflightResult, Status
from probes.preflight.sockets import Address
from probes.preflight.spec import DEFAULT_TIME_LIMIT_S, Connections, Direction, Family, TransferSpec
from probes.preflight.ssh.login import Credential
from probes.preflight.ssh.sftp import reason
from tests.support.preflight_made_up import measurement, stream


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


def test_tcp_info_of_kernels_old_and_new():
    raw = bytes(8) + struct.pack("=24I", *range(100, 124))
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
    assert iperf3.command(Address(2, "10.0.0.2", 22), spec, 7.6)[1:] == [
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
    damaged = json.loads(measurement([9e8]).to_json())
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
