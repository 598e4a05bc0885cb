"""The probe against a real server of S3: objects downloaded and uploaded with signed requests, and what is refused.

It needs `make s3proxy`, which `make test-all` runs first.
"""

import json
import os
import tempfile
from pathlib import Path

import pytest

from services.s3proxy.server import S3Proxy
from tests.support.ports import ADDRESS, free_port
from tests.support.ssh_far_end import LocalHost, in_this_process

pytestmark = pytest.mark.nightly

SIZE = 8_000_000


@pytest.fixture(scope="module")
def storage():
    with (
        tempfile.TemporaryDirectory(prefix="preflight-") as name,
        S3Proxy(LocalHost(), ADDRESS, Path(name) / "s3", port=free_port()) as server,
    ):
        (server.make_bucket("lab") / "a run & more").write_bytes(os.urandom(SIZE))
        yield server


@pytest.fixture(autouse=True)
def keys(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return _write_keys(tmp_path, S3Proxy.SECRET_KEY)


def _write_keys(folder, secret):
    text = f"[default]\naws_access_key_id = {S3Proxy.ACCESS_KEY}\naws_secret_access_key = {secret}\n"
    return (folder / "credentials").write_text(text)


def _run(storage, tmp_path, *words):
    where = ["--endpoint", storage.endpoint, "--results", str(tmp_path / "memory"), "--no-route", "--json"]
    return in_this_process([*where, *words])


def test_an_object_is_downloaded_and_uploaded(storage, tmp_path):
    copy = tmp_path / "copy"
    words = ["s3://lab/a run & more", "--streams", "3", "--to", str(copy)]
    done = _run(storage, tmp_path, *words)
    (iteration,) = done.found["iterations"]
    assert iteration["bytes"] == SIZE and len(iteration["streams"]) == 3
    assert copy.read_bytes() == (storage.buckets / "lab" / "a run & more").read_bytes()
    assert done.found["target"]["name"] == "s3://lab" and done.found["spec"]["endpoint"] == storage.endpoint
    assert "Signature" not in done.printed and S3Proxy.SECRET_KEY not in done.printed

    found = _run(storage, tmp_path, "s3://lab/in/", "--upload", "--size", "5MB", "--streams", "2").found
    assert [stream["bytes"] for stream in found["iterations"][0]["streams"]] == [2_500_000] * 2
    assert [path.name for path in (storage.buckets / "lab").rglob("*") if path.is_file()] == ["a run & more"]
    history = in_this_process(["history", "s3://lab", "--json", "--results", str(tmp_path / "memory")])
    kept = json.loads(history.printed)["measurements"]
    assert [each["target"] for each in kept] == [f"s3://lab at {storage.endpoint}"] * 2


def test_refusals_are_explained(storage, tmp_path):
    assert "404 Not Found (NoSuchKey)" in _run(storage, tmp_path, "s3://lab/nothing").error()
    assert "(NoSuchBucket)" in _run(storage, tmp_path, "s3://attic/run").error()
    _write_keys(tmp_path, "wrong")
    assert "403 Forbidden (SignatureDoesNotMatch)" in _run(storage, tmp_path, "s3://lab/a run & more").error()
    (tmp_path / "credentials").unlink()
    assert "there are no credentials for s3://lab" in _run(storage, tmp_path, "s3://lab/a run & more").error()
