"""Addresses at which the view may be served, and its server's answers: on loopback only, and read only."""

import http.client
import json
import subprocess
import sys

import pytest
from rich.console import Console

from controllers.addresses import is_local
from controllers.settings import Settings, probe_plan
from controllers.view.rest import parse_address
from controllers.view.show import show
from flightpath.errors import UsageError
from flightpath.hosts import endpoint
from flightpath.project import PROJECT
from tests.support.killed import killed_at_end

SERVER = """
import sys
from controllers.view.rest import Page, json_page, serve_pages
import eventlet
pages = {
    "/connections": lambda: json_page({"connections": []}),
    "/health": lambda: json_page({"ready": False}, available=False),
    "/metrics": lambda: Page(b"flightpath_subflows 2.0"),
}
serve_pages(pages, sys.argv[1:])
eventlet.sleep(60)
"""


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["", "8653", "localhost:8653", "127.0.0.1:http", "127.0.0.1:65536", "unix:relative"], "rest: "),
        (["0.0.0.0:8653", "[::]:8653", "10.0.0.1:1", "[2001:db8::1]:80"], "is not a loopback address"),
    ],
)
def test_other_addresses_than_loopback_and_sockets_are_refused(texts, reason):
    for text in texts:
        with pytest.raises(UsageError, match=reason):
            parse_address(text)


def test_addresses_of_both_families_and_sockets_are_parsed():
    assert parse_address("127.0.0.1:8653") == ("127.0.0.1", 8653)
    assert parse_address("[::1]:0") == ("::1", 0)
    assert parse_address("unix:/run/some.sock") == ("/run/some.sock", 0)


def test_settings_come_from_the_environment_and_are_checked():
    values = {"FLIGHTPATH_POLICY": "widest", "FLIGHTPATH_PROBE_PERIOD": "50ms", "FLIGHTPATH_REST": "[::1]:1,unix:/a"}
    settings = Settings.from_environment(values)
    assert (settings.policy, settings.probes.period_s, settings.rest) == ("widest", 0.05, ("[::1]:1", "unix:/a"))
    with pytest.raises(UsageError, match="policy"):
        Settings.from_environment({"FLIGHTPATH_POLICY": "wides"})
    for text in ("1ms", "soon"):
        with pytest.raises(UsageError, match="probe period"):
            probe_plan(text)


@pytest.mark.parametrize("address", ["10.10.100.100", "fd00::100:1"])
def test_the_whole_address_of_a_subflow_is_shown_on_a_narrow_terminal(address, capsys):
    flow = {"state": "pending", "backup": True, "switches": ["edge1", "core1", "edge2"], "ports": [1, 2, 3]}
    flow |= {"source": address, "source_port": 43210, "destination": address, "destination_port": 5001}
    connection = {"id": 1000, "protocol": "mptcp", "token": "0x1234abcd", "subflows": [flow]}
    console = Console(width=80, force_terminal=True, color_system=None)
    show({"policy": "single", "connections": [connection], "syns": {}}, {"links": [], "moves": []}, console)
    shown = capsys.readouterr().out
    assert all(endpoint(address, port) in shown for port in (43210, 5001))


@pytest.fixture
def served():
    """A connection to a server in a process of its own, for it does not end."""
    argv = [sys.executable, "-c", SERVER, "127.0.0.1:0"]
    with killed_at_end(subprocess.Popen(argv, cwd=PROJECT, stdout=subprocess.PIPE, text=True)) as process:
        address = process.stdout.readline().strip().removeprefix("view at http://")
        connection = http.client.HTTPConnection(address, timeout=10)
        yield connection
        connection.close()


def fetch(connection: http.client.HTTPConnection, method: str, path: str, **headers: str) -> tuple[int, bytes]:
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_pages_are_served_for_reading_only(served):
    status, body = fetch(served, "GET", "/connections")
    assert (status, json.loads(body)) == (200, {"connections": []})
    assert fetch(served, "GET", "/health")[0] == 503
    assert fetch(served, "GET", "/metrics") == (200, b"flightpath_subflows 2.0")
    assert fetch(served, "HEAD", "/connections") == (200, b"")
    for method in ("POST", "PUT", "DELETE"):
        assert fetch(served, method, "/connections")[0] == 405
    status, body = fetch(served, "GET", "/../etc/passwd")
    assert status == 404 and b"/connections" in body
    assert fetch(served, "GET", "/" + "x" * 10_000)[0] == 414
    assert fetch(served, "GET", "/connections", Host="127.0.0.1:8653")[0] == 200
    assert fetch(served, "GET", "/connections", Host="attacker.example:8653")[0] == 421


OWN = ("127.0.0.1:8653", "127.0.0.1", "[::1]:8653", "[::1]", "localhost:8653", "LOCALHOST")
OTHERS = ("attacker.example:80", "127.0.0.1.attacker.example", "localhost.attacker.example:80", "192.0.2.1:80", "", ":")


@pytest.mark.parametrize("host", [*OWN, *OTHERS])
def test_only_names_of_this_machine_are_local(host):
    assert is_local(host) is (host in OWN)
