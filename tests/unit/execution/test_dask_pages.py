"""Dask's pages on loopback: what a browser asks for in the name of a page on the web."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from execution.cluster.key import make_key
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.killed import killed_at_end

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")


@pytest.fixture
def port(tmp_path) -> Iterator[int]:
    """The port of a scheduler's pages."""
    key, file = tmp_path / "key.pem", tmp_path / "scheduler.json"
    make_key(key)
    words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--key", key, "--file", file]
    argv = [sys.executable, "-m", "execution.cluster", *words]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    with killed_at_end(subprocess.Popen(argv, cwd=PROJECT, **pipes)) as process:
        wait_until(lambda: process.stdout.readline().startswith("tls://"), "the scheduler", 60)
        yield json.loads(file.read_text())["services"]["dashboard"]


def test_they_answer_only_what_names_loopback(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for host, origin, is_answered in (
        ("127.0.0.1", None, True),
        ("localhost", "http://localhost:8787", True),
        ("evil.example", None, False),
        ("127.0.0.1", "http://evil.example", False),
        ("127.0.0.1", "null", False),
    ):
        headers = {"Host": f"{host}:{port}", **({"Origin": origin} if origin else {})}
        for page in ("/sitemap.json", "/json/identity.json", "/status"):
            connection.request("GET", page, headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert (answer.status != 403) == is_answered, (host, origin, page)
