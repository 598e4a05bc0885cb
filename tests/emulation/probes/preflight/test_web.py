"""The probe against a real web server: what it measures over HTTPS, what it leaves, and what it says when refused."""

import json
import os
import signal
import subprocess
import sys

import pytest

from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from services.web_files import WebFiles
from tests.support.preflight_in_host import RATE_BPS, RTT_MS, preflight_over_a_link
from tests.support.ssh_far_end import finish, in_this_process
from tests.support.web_far_end import web_far_end
from topologies.sandbox.sandbox import TEMPORARY

SIZE = 30_000_000


@pytest.fixture(scope="module")
def web():
    with web_far_end() as running:
        for name in ("data", "private/data", "closed/data", "whole/data"):
            running.make(name, SIZE)
        running.make("empty", 0)
        yield running


def test_ranges_of_a_file_are_downloaded_and_remembered(web):
    found = web.measured("--streams", "3", "--iterations", "2", "--interval", "50ms", file="data")
    assert found["target"]["name"] == web.url
    assert found["spec"]["remote_file"] == "/data" and found["file_bytes"] == SIZE
    assert len(found["iterations"]) == 2
    for iteration in found["iterations"]:
        assert iteration["bytes"] == SIZE == sum(stream["bytes"] for stream in iteration["streams"])
        assert sum(each["bytes"] for each in iteration["intervals"]) == SIZE
        assert [iteration["phases"][name] > 0 for name in ("connect_s", "key_exchange_s", "first_byte_s")] == [True] * 3
        assert iteration["goodput_bps"] > 0 and iteration["ended_by"] == "size"
        assert len({stream["connection"]["local"][1] for stream in iteration["streams"]}) == 3
        for stream in iteration["streams"]:
            assert stream["samples"][-1]["rtt_ms"] > 0 and stream["load"]["cpu_s"] > 0
            connection = stream["connection"]
            assert connection["cipher"].startswith("TLSv1.3 TLS_AES") and connection["server"].startswith("nginx")
            assert connection["host_key"].startswith("SHA256:")
    history = in_this_process(["history", f"{web.url}/data", "--json", "--results", str(web.memory)])
    kept = json.loads(history.printed)["measurements"]
    assert kept[-1]["target"] == web.url


def test_a_downloaded_file_is_the_same_byte_for_byte(web, tmp_path):
    noise = os.urandom(7_654_321)
    web.make("noise", 0).write_bytes(noise)
    for more in (["--streams", "3"], ["--streams", "2", "--each"]):
        target = tmp_path / "copy"
        web.measured("--to", str(target), *more, file="here/noise")  # redirected on the same server
        assert target.read_bytes() == noise
        target.unlink()
    web.measured("--to", str(target), file="whole/data")
    assert target.stat().st_size == SIZE


def test_uploads_are_whole_and_nothing_is_left(web):
    found = web.measured("--upload", "--size", "20MB", "--streams", "2", file="incoming/")
    (iteration,) = found["iterations"]
    assert [stream["bytes"] for stream in iteration["streams"]] == [10_000_000] * 2
    assert iteration["ended_by"] == "size" and iteration["phases"]["first_byte_s"] > 0
    assert any("acknowledged" in note for note in found["notes"])
    assert web.left() == []
    (iteration,) = web.measured("--upload", "--time", "1s", "--rate", "100Mbit", file="incoming/")["iterations"]
    assert iteration["ended_by"] == "time" and iteration["bytes"] > 0
    wait_until(lambda: web.left() == [], "the server to discard what it did not get whole", 30)


@pytest.mark.parametrize(
    ("words", "file", "says"),
    [
        ([], "nothing", "there is no '/nothing'"),
        ([], "empty", "is empty (0 bytes)"),
        ([], "private/data", "answered 401"),
        ([], "closed/data", "answered 403"),
        ([], "elsewhere/data", "measure the path to that server: https://mirror.example/data"),
        (["--streams", "2"], "whole/data", "the server knows no ranges"),
        (["--size", "1GB"], "data", "less than the 1000000000 of --size"),
        (["--upload"], "private/", "answered 401"),
        (["--upload"], "whole/", "answered 405"),
        (["--upload"], "kept/", "could not be removed"),
        (["--upload", "--size", "1MB"], "small/", "choose a smaller --size"),
    ],
)
def test_refusals_are_explained(web, words, file, says):
    assert says in web.refused(*words, file=file)


def test_log_ins_are_those_of_netrc(web, tmp_path, monkeypatch):
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    entry = f"machine {web.server.address} login {WebFiles.USER} password "
    (tmp_path / "netrc").write_text(f"{entry}{WebFiles.PASSWORD}\n")
    found = web.measured("--streams", "2", file="private/data")
    assert found["iterations"][0]["bytes"] == SIZE
    assert WebFiles.PASSWORD not in json.dumps(found)
    (tmp_path / "netrc").write_text(f"{entry}wrong\n")
    assert "has a log-in" in web.refused(file="private/data")


def test_certificates_are_checked_and_a_server_without_tls_is_named(web, end, tmp_path):
    assert "its certificate is not valid: self-signed certificate" in web.refused(file="data", trusted=False)
    localhost = web.url.replace(web.server.address, "localhost")
    other = in_this_process([*web.words(file="data")[:-1], f"{localhost}/data"])
    assert "its certificate is not valid: Hostname mismatch" in other.error()
    (tmp_path / "none").write_text("no certificate\n")
    assert "no certificates (PEM)" in web.refused("--ca", str(tmp_path / "none"), file="data", code=2)
    plain = in_this_process([*web.words()[:-1], f"{web.url.replace('https', 'http')}/data"])
    assert "answered 400" in plain.error()  # nginx says so to whom speaks without TLS
    ssh = in_this_process([*web.words()[:-1], f"https://{web.server.address}:{end.sshd.port}/data"])
    assert "answers, but not with TLS" in ssh.error()


def test_an_interrupted_upload_leaves_nothing(web):
    words = web.words("--upload", "--size", "1GB", "--rate", "80Mbit", file="incoming/")
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-m", "probes.preflight", *words], cwd=PROJECT, **pipes)
    arriving = web.server.folder / "body"
    wait_until(lambda: any(path.is_file() for path in arriving.rglob("*")), "the upload", 30)
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 130
    assert web.left() == []


@pytest.mark.virtual
@pytest.mark.in_sandbox
def test_a_path_is_the_same_over_https_and_over_ssh():
    with preflight_over_a_link() as (testbed, sshd, preflight):
        server = testbed.net.hosts[1]
        with WebFiles(server, server.address(), TEMPORARY / "web") as web:
            data = web.files / "data"
            data.touch()
            os.truncate(data, 1_000_000_000)
            web.give(data)
            secure, ssh = ["--ca", str(web.certificate)], ["-F", str(sshd.client_configuration), "--batch"]
            for direction, file in (([], "data"), (["--upload"], "incoming/")):
                found = {}
                for words in ([*secure, f"{web.url}/{file}"], [*ssh, "dtn"]):
                    code, told = preflight("--time", "3s", "--no-route", "--json", "--forget", *direction, *words)
                    assert code == 0, told
                    found[words[0]] = json.loads(told)
                rates = [each["goodput_bps"] for each in found.values()]
                assert rates[0] == pytest.approx(rates[1], rel=0.03)
                assert 0.8 * RATE_BPS < rates[0] < RATE_BPS
                samples = found["--ca"]["measurement"]["iterations"][0]["streams"][0]["samples"]
                assert min(each["minimum_rtt_ms"] or each["rtt_ms"] for each in samples) >= RTT_MS
