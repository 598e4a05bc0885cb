"""Experiment files are measured: hosts, routers and switches, programs in their order, and every kind of measure."""

import re
import shutil
from pathlib import Path

import pytest

from experiments import catalogue
from flightpath.project import PROJECT
from results.store.store import Store
from scenarios.command import importing
from tests.support.scenario_runs import measured_cells

pytestmark = pytest.mark.virtual

RECEIVE = """
import socket
connection, _ = socket.create_server(("", 7000)).accept()
with open("received", "wb") as file:
    while data := connection.recv(65536):
        file.write(data)
"""
SEND = """
import json, socket, sys
with socket.create_connection((sys.argv[1], 7000)) as connection:
    connection.sendall(bytes(1_000_000))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
print(json.dumps({"parts": [{"n": 1}, {"n": 4}]}))
"""


def test_every_kind_of_measure_yields_a_number(tmp_path):
    file = shutil.copy(PROJECT / "tests/data/every_measure.toml", tmp_path)
    for name, program in (("receive", RECEIVE), ("send", SEND)):
        (tmp_path / f"{name}.py").write_text(program, encoding="utf-8")
    (cell,) = measured_cells(catalogue.load(Path(file)), tmp_path / "runs")
    metrics = {name: metric["value"] for name, metric in cell["metrics"].items()}
    assert cell["verdict"] == "faithful", cell
    assert metrics["sum_of_parts"] == 5 and metrics["opened"] == 1 and metrics["said"] == 7
    assert 0.5 <= metrics["began"] < 0.8
    assert 1.0 < metrics["arrival"] - metrics["began"] < 1.4  # 1 MB at 8 Mbit/s
    assert 1.0e6 < metrics["bytes_there"] < 1.2e6
    assert 40 <= metrics["rtt"] < 1100


def test_the_example_of_the_document_is_judged_both_ways(tmp_path):
    document = (PROJECT / "docs/experiment-files.md").read_text(encoding="utf-8")
    file = tmp_path / "outage.toml"
    file.write_text(re.search(r"```toml\n(.*?)```", document, re.DOTALL)[1], encoding="utf-8")
    cells = measured_cells(catalogue.load(file), tmp_path / "runs", "--repeat", "3")
    assert [cell["verdict"] for cell in cells] == ["faithful"] * 6
    claims = Store.open(tmp_path / "runs").claims("latest")
    assert [str(claim.verdict) for claim in claims] == ["reproduced", "not reproduced"], claims


def test_an_imported_network_has_the_delays_of_its_file(tmp_path):
    (tmp_path / "topology.yml").write_text(
        "nodes: {r1: , r2: , h1: {role: host}, h2: {role: host}}\n"
        "links: [h1-r1, r2-h2, {r1: , r2: , tc: {delay: 10, rate: 5000}}]\n"
    )
    assert importing.main([str(tmp_path / "topology.yml"), "--output", str(tmp_path / "lab.toml")]) == 0
    (cell,) = measured_cells(catalogue.load(tmp_path / "lab.toml"), tmp_path / "runs")
    assert cell["verdict"] == "faithful" and 20 <= cell["metrics"]["rtt"]["value"] < 20.5, cell
