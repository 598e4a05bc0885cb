"""The probe against a real sshd: what it measures, and that it does what its options say."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flightpath.waiting import wait_until
from probes.preflight.ssh.remote_folder import PREFIX
from tests.support import ssh_far_end
from tests.support.ssh_far_end import far_end, finish

ODD_NAME = "-rf $(touch pwned) '; touch pwned #\"`touch pwned`\\ * ünïcödé ✈\nsecond line"


pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to look into the server's processes")


def test_download_is_whole_and_timed_phase_by_phase(end):
    end.make("data", 30_000_000)
    done = end.run("--streams", "3", "--iterations", "2", "--interval", "50ms", file="data")
    assert done.code in (0, 4), done.said
    assert len(done.found["iterations"]) == 2
    for iteration in done.found["iterations"]:
        assert iteration["bytes"] == 30_000_000 == sum(stream["bytes"] for stream in iteration["streams"])
        assert sum(each["bytes"] for each in iteration["intervals"]) == 30_000_000
        assert all(value > 0 for value in iteration["phases"].values())
        assert iteration["goodput_bps"] > 0
        assert iteration["ended_by"] == "size"
        for stream in iteration["streams"]:
            assert stream["samples"][-1]["rtt_ms"] > 0
            assert stream["connection"]["cipher"] == "aes128-gcm@openssh.com"
            assert stream["load"]["cpu_s"] > 0


def test_downloaded_file_is_the_same_byte_for_byte(end, tmp_path):
    noise = os.urandom(7_654_321)
    (end.files / "noise").write_bytes(noise)
    end.sshd.give(end.files / "noise")
    for more in (
        ["--streams", "3"],
        ["--streams", "2", "--one-connection", "--request", "1000B"],
        ["--cipher", "aes256-ctr"],
    ):
        target = tmp_path / "copy"
        done = end.run("--to", str(target), *more, file="noise")
        assert done.code in (0, 4), done.said
        assert target.read_bytes() == noise
        target.unlink()
    assert list(tmp_path.iterdir()) == []


def test_uploaded_bytes_arrive_and_are_removed(own_end):
    process = own_end.start("--upload", "--rate", "80Mbit", "--time", "30s", "--streams", "2")
    try:
        found = []

        def both_grow():
            found[:] = [path.stat().st_size for path in own_end.files.glob(f"{PREFIX}*/stream-*")]
            return len(found) == 2 and min(found) > 100_000

        wait_until(both_grow, "the uploads to grow", 30)
    finally:
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert done.code == 130
    assert own_end.left() == []


def test_upload_of_a_size_is_confirmed_to_the_byte(end):
    done = end.run("--upload", "--size", "9MB", "--streams", "2")
    assert done.code in (0, 4), done.said
    assert done.found["iterations"][0]["bytes"] == 9_000_000
    assert end.left() == []


def test_a_file_of_its_own_is_made_read_and_removed(end):
    done = end.run("--size", "5MB")
    assert done.code in (0, 4), done.said
    assert done.found["iterations"][0]["bytes"] == 5_000_000
    assert any("is sparse" in note for note in done.found["notes"])
    assert end.left() == []


@pytest.mark.alone
@pytest.mark.parametrize("direction", [[], ["--upload"]], ids=["download", "upload"])
def test_rate_and_byte_limits_hold(end, direction):
    done = end.run("--rate", "40Mbit", "--bytes", "5MB", "--streams", "2", *direction)
    assert done.code in (0, 4), done.said
    (iteration,) = done.found["iterations"]
    assert iteration["bytes"] == 5_000_000
    assert iteration["ended_by"] == "bytes"
    assert iteration["transfer_s"] >= 0.9  # 40 Mbit of them, and never faster
    assert iteration["goodput_bps"] <= 44e6


@pytest.mark.alone
def test_time_limit_ends_an_endless_transfer(end):
    done = end.run("--time", "500ms", "--rate", "100Mbit")
    assert done.code in (0, 4), done.said
    (iteration,) = done.found["iterations"]
    assert iteration["ended_by"] == "time"
    assert 0.45 <= iteration["transfer_s"] < 5


def test_streams_share_one_connection_or_have_their_own(end):
    for more, wanted in (([], 4), (["--one-connection"], 1)):
        done = end.run("--size", "4MB", "--streams", "4", *more)
        assert done.code in (0, 4), done.said
        streams = done.found["iterations"][0]["streams"]
        assert len({stream["connection"]["local"][1] for stream in streams}) == wanted


def test_socket_options_are_set_before_connecting(end):
    options = ["--receive-buffer", "300kB", "--send-buffer", "200kB", "--mss", "1000", "--congestion-control", "cubic"]
    done = end.run("--size", "1MB", *options)
    assert done.code in (0, 4), done.said
    connection = done.found["iterations"][0]["streams"][0]["connection"]
    assert connection["receive_buffer_bytes"] == 600_000  # the kernel doubles it for its bookkeeping
    assert connection["send_buffer_bytes"] == 400_000
    assert connection["mss_bytes"] <= 1000
    assert connection["congestion_control"] == "cubic"


def test_small_windows_bound_what_is_on_the_way(end):
    done = end.run("--size", "2MB", "--ssh-window", "8KiB", "--window-clamp", "64KiB")
    assert done.code in (0, 4), done.said
    assert done.found["iterations"][0]["bytes"] == 2_000_000


def test_new_keys_during_a_transfer_lose_nothing():
    with far_end(RekeyLimit="1M") as end:
        for more in ([], ["--upload"], ["--cipher", "aes128-ctr"]):
            done = end.run("--size", "8MB", *more)
            assert done.code in (0, 4), done.said
            assert done.found["iterations"][0]["bytes"] == 8_000_000


def test_memory_does_not_grow_with_the_file(end):
    end.make("large", 600_000_000)
    peaks = [_peak_kb(end, size) for size in ("20MB", "600MB")]
    assert peaks[1] < peaks[0] + 16_384


def _peak_kb(end, size):
    """The largest resident set of any of the probe's processes, in kB, as the kernel noted it."""
    process = end.start("--size", size, "--forget", files=("large",))
    peak = 0
    while process.poll() is None:
        for each in _descendants(process.pid):
            try:
                status = Path(f"/proc/{each}/status").read_text()
            except OSError:
                continue
            peak = max([peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))])
        time.sleep(0.005)
    done = finish(process)
    assert done.code in (0, 4), done.said
    return peak


def _descendants(pid):
    return [each.pid for each in ssh_far_end.family(pid)]


def test_odd_names_are_only_names(end):
    end.make(ODD_NAME, 100_000)
    done = end.run(file=ODD_NAME)
    assert done.code in (0, 4), done.said
    assert done.found["iterations"][0]["bytes"] == 100_000
    assert not (end.files / "pwned").exists()
    assert not (ssh_far_end.PROJECT / "pwned").exists()
    done = end.run(file=f"{ODD_NAME}, but not there")
    assert done.code == 1
    assert "there is no file" in done.said


def test_ipv6():
    with far_end(address="::1") as end:
        done = end.run("-6", "--size", "1MB", "--upload")
        assert done.code in (0, 4), done.said
        connection = done.found["iterations"][0]["streams"][0]["connection"]
        assert (connection["family"], connection["remote"][0]) == (6, "::1")
        done = end.run("-4", "--size", "1MB")
        assert done.code == 1
        assert "no address of IPv4" in done.said


def test_passphrase_is_asked_once_on_a_terminal_and_kept_nowhere(own_end, tmp_path):
    locked = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "hunter2", "-f", locked], check=True)
    authorized = own_end.folder / "ssh" / "server" / "authorized_keys"
    authorized.write_text(locked.with_suffix(".pub").read_text())
    configuration = tmp_path / "config"
    configuration.write_text(
        own_end.sshd.client_configuration.read_text().replace(str(own_end.sshd.identity), str(locked))
    )
    options = ["-F", str(configuration), "--results", str(own_end.memory), "--size", "1MB", "-P", "3", "--no-route"]
    code, shown = ssh_far_end.on_terminal(
        [sys.executable, "-m", "probes.preflight", *options, "dtn"], {"id: ": "hunter2"}
    )
    assert code in (0, 4), shown
    assert shown.count("passphrase of") == 1
    assert "goodput" in shown
    assert not any(b"hunter2" in path.read_bytes() for path in own_end.memory.rglob("*") if path.is_file())


def test_iperf3_beside_it(end):
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    port = ssh_far_end.free_port()
    done = end.run("--size", "1MB", f"--iperf3={port}")  # nobody is there: the measurement does not fail
    assert done.code in (0, 4), done.said
    assert done.found["iperf3"]["goodput_bps"] is None
    assert done.found["iperf3"]["note"]
    server = subprocess.Popen(["iperf3", "-s", "-p", str(port)], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_until(lambda: _listens(port), "iperf3", 30)
        done = end.run("--time", "1s", "--rate", "50Mbit", f"--iperf3={port}", "--streams", "2")
    finally:
        server.terminate()
        server.wait()
    assert done.code in (0, 4), done.said
    assert done.found["iperf3"]["goodput_bps"] == pytest.approx(50e6, rel=0.2)


def _listens(port):
    rows = [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    return any(row[3] == "0A" and int(row[1].split(":")[1], 16) == port for row in rows)


def test_json_is_one_object_and_the_rest_is_on_stderr(end):
    done = end.run("--size", "1MB")
    told = json.loads(done.printed)
    assert set(told) == {"run", "goodput_bps", "verdict", "measurement"}
    assert end.stored() >= 1
