"""Dask's pages on loopback: what a browser asks for in the name of a page on the web."""

import http.client
import json
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.support.cluster_parts import SCHEDULER_FILE, cluster

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")


@pytest.fixture
def port(tmp_path) -> Iterator[int]:
    """The port of a scheduler's pages."""
    with cluster(tmp_path, workers=0):
        yield json.loads((tmp_path / SCHEDULER_FILE).read_text())["services"]["dashboard"]


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
