"""Far ends that a URL names: how they are read, stored and named, their log-ins, and signatures for S3."""

import base64
import json
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from awscrt import auth

from flightpath.errors import UsageError
from probes.preflight.history.past import ends_of, host_name, load
from probes.preflight.history.recording import load_result
from probes.preflight.records import PreflightResult
from probes.preflight.service.perfsonar import records
from probes.preflight.spec import TransferSpec
from probes.preflight.target import WebTarget
from probes.preflight.url import request_path, split_url, storage_target, web_target
from probes.preflight.web.login import authorization
from probes.preflight.web.storage import Signer, bucket_target
from results.store.store import Store
from tests.support.preflight_made_up import measurement, store_daily, store_result

PORTAL = web_target("https://portal.example")


@pytest.mark.parametrize(
    ("text", "name", "file"),
    [
        ("https://Portal.Example:443/run 7.tar?get=1#top", "https://portal.example", "/run 7.tar?get=1"),
        ("http://portal.example:8080", "http://portal.example:8080", ""),
        ("https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443", ""),
        ("https://portal.example/in/", "https://portal.example", "/in/"),
        ("s3://bucket/a/b?c#d", "s3://bucket", "a/b?c#d"),
        ("S3://bucket", "s3://bucket", ""),
    ],
)
def test_a_url_names_a_far_end_and_a_file(text, name, file):
    assert split_url(text) == (name, file)
    assert host_name(text) == name and ends_of(name) is None


@pytest.mark.parametrize(
    "text", ["ftp://host/file", "https://", "https://host:port/", "s3://", "s3://key@bucket/", "://x"]
)
def test_other_urls_are_refused_with_the_forms(text):
    with pytest.raises(UsageError) as raised:
        split_url(text)
    assert "accepted forms" in raised.value.hint


def test_a_password_in_a_url_is_not_repeated():
    with pytest.raises(UsageError) as raised:
        split_url("https://me:secret@portal.example/data")
    assert "secret" not in str(raised.value) and "machine portal.example" in raised.value.hint


@pytest.mark.parametrize(
    ("target", "file", "path"),
    [
        (PORTAL, "/data/run 7.tar?download=1", "/data/run%207.tar?download=1"),
        (PORTAL, "/in%20here/x", "/in%20here/x"),
        (storage_target("s3://b", "https://s3.example:9000/", "r"), "a b/ü?%.tar", "/b/a%20b/%C3%BC%3F%25.tar"),
        (storage_target("s3://b", "", "eu-west-1"), "run7", "/run7"),
        (storage_target("s3://my.b", "", "eu-west-1"), "run7", "/my.b/run7"),
    ],
)
def test_a_file_has_a_path_for_requests(target, file, path):
    assert request_path(target, file) == path


def test_a_bucket_is_at_amazons_or_where_the_environment_says(tmp_path, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    assert bucket_target("s3://b", None) == WebTarget("s3://b", "b.s3.us-east-1.amazonaws.com", 443, region="us-east-1")
    (tmp_path / "config").write_text("[profile lab]\nregion = lab\nendpoint_url = http://lab.example:9000\n")
    monkeypatch.setenv("AWS_PROFILE", "lab")
    lab = WebTarget("s3://b", "lab.example", 9000, tls=False, root="/b", region="lab")
    assert bucket_target("s3://b", None) == lab
    assert str(lab) == "s3://b at http://lab.example:9000"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://env.example")
    assert bucket_target("s3://b", None).host == "env.example"
    assert bucket_target("s3://b", "https://option.example").host == "option.example"
    (tmp_path / "config").write_text("nonsense")
    with pytest.raises(UsageError, match="cannot be read"):
        bucket_target("s3://b", None)


def test_log_ins_are_shown_to_their_own_host_only(tmp_path, monkeypatch):
    file = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(file))
    assert authorization("portal.example") == ""
    file.write_text("machine portal.example login me password secret\ndefault login me password everywhere\n")
    assert base64.b64decode(authorization("portal.example").removeprefix("Basic ")) == b"me:secret"
    assert authorization("other.example") == ""
    file.write_text("machine portal.example nonsense\n")
    with pytest.raises(UsageError, match="cannot be read"):
        authorization("portal.example")


def test_a_signature_is_the_one_in_aws_documentation():
    """Authenticating Requests: Using Query Parameters (AWS Signature Version 4), its example."""
    key = auth.AwsCredentialsProvider.new_static("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    target = WebTarget("s3://examplebucket", "examplebucket.s3.amazonaws.com", 443, region="us-east-1")
    signed = Signer(target, key, datetime(2013, 5, 24, tzinfo=UTC))("GET", "/test.txt")
    assert signed.startswith("/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256")
    assert signed.endswith("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")


def test_without_the_package_that_signs_the_command_that_installs_it_is_named(ask, monkeypatch):
    monkeypatch.setitem(sys.modules, "awscrt", None)
    refused = ask("s3://bucket/run7", "--endpoint", "http://127.0.0.1:9", code=3)
    assert not refused.out and "-m pip install awscrt" in refused.err


def test_measurements_of_urls_are_stored_read_back_and_exported(tmp_path):
    made = replace(measurement([900e6]), target=PORTAL, spec=TransferSpec(remote_file="/data", endpoint=None))
    assert "endpoint" not in json.loads(made.to_json())["spec"]
    run_id = store_result(made, tmp_path)
    store = Store.open(tmp_path, create=False)
    assert load_result(store, run_id) == made == PreflightResult.from_json(made.to_json())
    (past,) = load(store, "https://portal.example")
    (of_perfsonar,) = records(past, made)
    assert of_perfsonar["participants"][0] == "portal.example"


def test_history_check_and_predict_know_a_url(told, tmp_path):
    store_daily(tmp_path, [900e6] * 12, host="https://portal.example", spec=TransferSpec(remote_file="/data"))
    assert len(told("history", "https://portal.example/data")["measurements"]) == 12
    assert told("check", "https://portal.example")["verdict"] == "within"
    assert told("predict", "https://portal.example/data", "--max-age", "10000d")["measurements"] == 12


def test_a_profile_of_a_url_pins_its_file_and_wants_it_named(ask, told, tmp_path):
    ask("profile", "add", "portal", "--host", "https://portal.example/data", "--streams", "4")
    shown = told("profile", "show", "portal")
    assert shown["host"] == "https://portal.example"
    assert (shown["configuration"]["remote_file"], shown["configuration"]["streams"]) == ("/data", 4)
    assert "REMOTE_FILE /data" in ask("--profile", "portal", code=2).err
    other = ask("https://portal.example/other", "--profile", "portal", code=2).err
    assert "would change its remote file" in other
    store_daily(tmp_path, [900e6] * 2, host="https://portal.example", spec=TransferSpec(remote_file="/x"))
    assert [each["host"] for each in told("profile", "adopt")["profiles"]] == ["https://portal.example"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["https://portal.example"], "needs a file that is there"),
        (["https://portal.example/data", "other"], "both name a file"),
        (["https://portal.example/data", "--upload"], "never into a file that is there"),
        (["https://portal.example/data", "--cipher", "aes256-ctr"], "--cipher: is for SSH"),
        (["https://portal.example/data", "-p", "8443"], "--port: is for SSH"),
        (["https://portal.example/data", "--endpoint", "https://s3.example"], "--endpoint: is for s3://"),
        (["https://portal.example/data", "--ca", "/nowhere"], "--ca: /nowhere cannot be used"),
        (["s3://bucket/data", "--endpoint", "s3.example"], "is not the URL of a far end"),
        (["dtn", "--endpoint", "https://s3.example"], "--endpoint: is for URLs"),
        (["--from", "a,b", "--to", "https://portal.example"], "a matrix is of hosts with SSH"),
    ],
)
def test_words_that_do_not_fit_a_far_end(ask, words, says):
    refused = ask(*words, code=2)
    assert not refused.out and says in refused.err
