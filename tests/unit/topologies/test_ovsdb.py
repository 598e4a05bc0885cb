"""The client of Open vSwitch's database: what it sends, and how it reads answers that arrive in any pieces."""

import json
import socket
import threading

import pytest

from flightpath.errors import FlightpathError
from topologies.testbed.ovsdb import Database

COLUMNS = {
    "fail_mode": {"key": {"type": "string"}, "min": 0},
    "stp_enable": "boolean",
    "protocols": {"key": {"type": "string"}, "min": 0, "max": "unlimited"},
    "other_config": {"key": "string", "value": "string", "min": 0, "max": "unlimited"},
    "flood_vlans": {"key": {"type": "integer"}, "min": 0, "max": 4096},
}
SCHEMA = {"tables": {"Bridge": {"columns": {name: {"type": kind} for name, kind in COLUMNS.items()}}}}


@pytest.fixture
def database(tmp_path):
    """A database whose server asks whether the client is alive before each answer, and sends in pieces."""
    path = tmp_path / "db.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        threading.Thread(target=answer, args=(server,), daemon=True).start()
        with Database(path) as client:
            yield client


def answer(server):
    connection, _ = server.accept()
    with connection:
        while data := connection.recv(1 << 16):
            request = json.loads(data)
            results = {"get_schema": SCHEMA, "transact": [{"error": "constraint violation", "details": "two of s1"}]}
            message = json.dumps({"id": request["id"], "result": results[request["method"]], "error": None})
            echo = json.dumps({"id": "echo", "method": "echo", "params": []})
            for piece in (echo[:9], echo[9:] + message[:20], message[20:]):
                connection.sendall(piece.encode())


def test_settings_as_ovs_vsctl_takes_them_become_a_row_with_types(database):
    settings = "other_config:datapath-id=01 fail_mode=secure other-config:dp-desc=s1 stp_enable=true flood_vlans=1,2"
    assert database.row("Bridge", [*settings.split(), "protocols=OpenFlow10,OpenFlow13"]) == {
        "other_config": ["map", [["datapath-id", "01"], ["dp-desc", "s1"]]],
        "fail_mode": "secure",
        "stp_enable": True,
        "flood_vlans": ["set", [1, 2]],
        "protocols": ["set", ["OpenFlow10", "OpenFlow13"]],
    }
    with pytest.raises(FlightpathError, match="no setting 'fail_mod' of a bridge"):
        database.row("Bridge", ["fail_mod=secure"])


def test_a_refusal_says_why(database):
    with pytest.raises(FlightpathError, match="constraint violation: two of s1"):
        database.transact({"op": "insert", "table": "Bridge", "row": {"name": "s1"}})


def test_a_server_that_is_gone_is_named(tmp_path):
    with pytest.raises(FlightpathError, match="database does not answer"):
        Database(tmp_path / "db.sock")
