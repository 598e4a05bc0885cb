"""The probe against a real sshd: what it measures, and that it does what its options say."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ssh_far_end
from tests.support.ports import free_port
from tests.support.ssh_far_end import far_end

ODD_NAME = "-rf $(touch pwned) '; touch pwned #\"`touch pwned`\\ * ünïcödé ✈\nsecond line"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to look into the server's processes")


def test_download_is_whole_and_timed_phase_by_phase(end):
    end.make("data", 30_000_000)
    found = end.measured("--streams", "3", "--iterations", "2", "--interval", "50ms", file="data")
    assert len(found["iterations"]) == 2
    for iteration in found["iterations"]:
        assert iteration["bytes"] == 30_000_000 == sum(stream["bytes"] for stream in iteration["streams"])
        assert sum(each["bytes"] for each in iteration["intervals"]) == 30_000_000
        assert all(value > 0 for value in iteration["phases"].values())
        assert iteration["goodput_bps"] > 0
        assert iteration["ended_by"] == "size"
        for stream in iteration["streams"]:
            assert stream["samples"][-1]["rtt_ms"] > 0
            assert stream["connection"]["cipher"] == "aes128-gcm@openssh.com"
            assert stream["load"]["cpu_s"] > 0


def test_a_downloaded_file_is_the_same_byte_for_byte_and_replaces_what_was_there(end, tmp_path):
    noise = os.urandom(7_654_321)
    (end.files / "noise").write_bytes(noise)
    end.sshd.give(end.files / "noise")
    target = tmp_path / "copy"
    for more in (
        ["--streams", "3"],
        ["--streams", "2", "--one-connection", "--request", "1000B"],
        ["--cipher", "aes256-ctr"],
    ):
        target.write_text("before")
        end.measured("--to", str(target), *more, file="noise")
        assert target.read_bytes() == noise
        assert list(tmp_path.iterdir()) == [target]


def test_streams_have_connections_of_their_own_with_the_options_that_were_given(end):
    """The file is the probe's own; what is printed is one object."""
    options = ["--receive-buffer", "300kB", "--send-buffer", "200kB", "--mss", "1000", "--congestion-control", "cubic"]
    before = end.stored()
    done = end.run("--size", "5MB", "--streams", "4", *options)
    assert set(json.loads(done.printed)) == {"run", "goodput_bps", "verdict", "measurement"}
    assert any("is sparse" in note for note in done.found["notes"])
    assert end.left() == []
    assert end.stored() == before + 1
    (iteration,) = done.found["iterations"]
    assert iteration["bytes"] == 5_000_000
    connections = [stream["connection"] for stream in iteration["streams"]]
    assert len({connection["local"][1] for connection in connections}) == 4
    for connection in connections:
        assert connection["receive_buffer_bytes"] == 600_000  # the kernel doubles it for its bookkeeping
        assert connection["send_buffer_bytes"] == 400_000
        assert connection["mss_bytes"] <= 1000
        assert connection["congestion_control"] == "cubic"


@pytest.mark.parametrize("windows", [[], ["--ssh-window", "8KiB", "--window-clamp", "64KiB"]], ids=["usual", "small"])
def test_streams_share_one_connection_whatever_its_windows(end, windows):
    (iteration,) = end.measured("--size", "4MB", "--streams", "4", "--one-connection", *windows)["iterations"]
    assert iteration["bytes"] == 4_000_000
    assert len({stream["connection"]["local"][1] for stream in iteration["streams"]}) == 1


@pytest.mark.alone
def test_limits_of_rate_bytes_and_time_hold(end):
    for direction in ([], ["--upload"]):
        (iteration,) = end.measured("--rate", "40Mbit", "--bytes", "5MB", "--streams", "2", *direction)["iterations"]
        assert iteration["bytes"] == 5_000_000
        assert iteration["ended_by"] == "bytes"
        assert iteration["transfer_s"] >= 0.9  # 40 Mbit of them, and never faster
        assert iteration["goodput_bps"] <= 44e6
    (iteration,) = end.measured("--time", "500ms", "--rate", "100Mbit")["iterations"]
    assert iteration["ended_by"] == "time"
    assert 0.45 <= iteration["transfer_s"] < 5


def test_memory_does_not_grow_with_the_file(end):
    end.make("large", 200_000_000)
    peaks = [_peak_kb(end, size) for size in ("20MB", "200MB")]
    assert peaks[1] < peaks[0] + 16_384


_PEAK = """
import ctypes, os, resource, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: processes whose parent has ended come here
done = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
try:
    while True:
        os.wait()
except ChildProcessError:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done)
"""


def _peak_kb(end, size):
    """The largest resident set of any of the probe's processes, in kB, as the kernel keeps it of those that ended."""
    with end.start("--size", size, "--forget", files=("large",), prefix=(sys.executable, "-c", _PEAK)) as process:
        peak, said = process.communicate(timeout=100)
    assert process.returncode in (0, 4), said
    return int(peak)


def test_odd_names_are_only_names(end):
    end.make(ODD_NAME, 100_000)
    assert end.measured(file=ODD_NAME)["iterations"][0]["bytes"] == 100_000
    assert "there is no file" in end.refused(file=f"{ODD_NAME}, but not there")
    for folder in (end.files, ssh_far_end.PROJECT, Path.cwd()):
        assert not (folder / "pwned").exists()


def test_new_keys_during_a_transfer_over_ipv6_lose_nothing():
    with far_end(address="::1", RekeyLimit="1M") as end:
        for more in ([], ["--upload"], ["--cipher", "aes128-ctr"]):
            (iteration,) = end.measured("-6", "--size", "8MB", *more)["iterations"]
            assert iteration["bytes"] == 8_000_000
            connection = iteration["streams"][0]["connection"]
            assert (connection["family"], connection["remote"][0]) == (6, "::1")
        assert "no address of IPv4" in end.refused("-4", "--size", "1MB")


def test_passphrase_is_asked_once_on_a_terminal_and_kept_nowhere(own_end, tmp_path):
    locked = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "hunter2", "-f", locked], check=True)
    (own_end.folder / "ssh" / "server" / "authorized_keys").write_text(locked.with_suffix(".pub").read_text())
    options = ["--results", str(own_end.memory), "-P", "3", "--no-route"]
    configured = own_end.configured(tmp_path, (own_end.sshd.identity, locked))
    argv = [sys.executable, "-m", "probes.preflight", *configured, *options, "dtn"]
    code, shown = ssh_far_end.on_terminal(argv, "id: ", "hunter2")
    assert code in (0, 4), shown
    assert shown.count("passphrase of") == 1
    assert "goodput" in shown
    assert not any(b"hunter2" in path.read_bytes() for path in own_end.memory.rglob("*") if path.is_file())


def test_without_a_server_of_iperf3_it_is_measured_all_the_same(end):
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    nobody = end.measured("--size", "1MB", f"--iperf3={free_port()}")["iperf3"]
    assert nobody["goodput_bps"] is None
    assert nobody["note"]
