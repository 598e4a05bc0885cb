"""QUIC implementations: how they are built, what their programs are asked for, and what is read of what they print."""

import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from flightpath.commands import run
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, UsageError
from services.quic.__main__ import build
from services.quic.aioquic import Aioquic
from services.quic.implementation import Report, Request, ServerSettings
from services.quic.implementations import IMPLEMENTATIONS
from services.quic.picoquic import Picoquic
from services.quic.server import QuicServer
from services.reply import RequestPattern

SETTINGS = ServerSettings("0.0.0.0", 4433, Path("/cell"), "cubic", paths=2)
REQUEST = Request(("10.0.1.2", "fd00:2::2"), 20_000_000, False, SETTINGS)

CARGO = """#!/bin/sh
if [ "$1" = --version ]; then echo "cargo {version} (abc 2026-01-01)"; exit; fi
echo "$@" >> {calls}
while [ $# -gt 0 ]; do case $1 in --root) root=$2;; esac; shift; done
mkdir -p "$root/bin" && touch "$root/bin/program"
{end}
"""

# What noq 1.4.0 printed for a download over two links of 50 Mbit/s; the keys are sorted, and lines cut.
PRINTED = """{"bytes":20000000,"client":{"gro_segments":64,"gso_segments":64,"multipath":true,"paths":[
{"congestion_control":"Cubic","lost_packets":0,"mtu":1452,"remote":"10.0.1.2:4433","rtt_ms":32.884838,
"sent_packets":7212},{"congestion_control":"Cubic","lost_packets":0,"mtu":1452,"remote":"10.0.2.2:4433",
"rtt_ms":23.183048000000003,"sent_packets":6}]},"handshake_s":0.040672016,"seconds":1.823177488,"server":{
"gro_segments":64,"gso_segments":64,"multipath":true,"paths":[{"congestion_control":"Cubic","lost_packets":422,
"mtu":1452,"remote":"10.0.1.1:30302","rtt_ms":49.24075,"sent_packets":7601},{"congestion_control":"Cubic",
"lost_packets":422,"mtu":1452,"remote":"10.0.2.1:30302","rtt_ms":49.235497,"sent_packets":7384}]},"streams":8}
"""


@pytest.fixture
def cargo(tmp_path, monkeypatch):
    """Makes a cargo that writes down its calls, and returns the file; builds go to an empty folder."""
    folder, calls = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    calls.touch()

    def make(version: str = "1.95.0", end: str = "") -> Path:
        program = folder / "cargo"
        program.write_text(CARGO.format(version=version, calls=calls, end=end))
        program.chmod(0o755)
        return calls

    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    for downloads in (Aioquic, Picoquic):
        monkeypatch.setattr(downloads, "build", lambda self, new: new.mkdir())
    return make


def test_each_is_built_once_at_its_version_and_where_all_checkouts_find_it(cargo, tmp_path):
    calls = cargo()
    for implementation in IMPLEMENTATIONS.values():
        with pytest.raises(MissingCapability, match="is not built") as missing:
            implementation.server_command(SETTINGS)
        assert missing.value.hint == "make quic"
    build()
    build()
    (line,) = calls.read_text().splitlines()
    assert "--locked" in line
    folder = tmp_path / ".cache" / "flightpath" / "quic"
    built = {path.name.rpartition("-")[0] for path in folder.iterdir() if path.is_dir()}
    assert built == {f"{each.name}-{each.version}" for each in IMPLEMENTATIONS.values()}


def test_a_build_that_fails_leaves_nothing_that_counts_as_one_and_the_others_are_built(cargo, monkeypatch, capsys):
    cargo(end="echo 'error: no such crate' >&2; exit 101")
    with pytest.raises(FlightpathError, match="no such crate"):
        build()
    assert [name for name, each in IMPLEMENTATIONS.items() if each.home.exists()] == ["aioquic", "picoquic"]
    monkeypatch.setattr(Picoquic, "version", "1.2")
    monkeypatch.setattr(Picoquic, "build", lambda self, new: run(["false"]))
    with pytest.raises(FlightpathError, match="no such crate"):
        build()
    assert "QUIC: false ended with exit code 1" in capsys.readouterr().err


@pytest.mark.parametrize("version", ["1.63.0", "0.66.0", None])
def test_a_rust_that_is_missing_or_too_old_is_named_with_what_installs_it(cargo, version, monkeypatch, tmp_path):
    if version:
        cargo(version)
    else:
        monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingCapability, match="is missing" if version is None else "is too old") as refused:
        build()
    assert "rustup" in refused.value.hint and refused.value.exit_code == 3
    IMPLEMENTATIONS["aioquic"].require()  # is there all the same


def test_only_the_pinned_source_of_picoquic_is_built(tmp_path, monkeypatch):
    """Its source is a file here instead of one on PyPI."""
    picoquic, sources = Picoquic(), tmp_path / "aiopquic-1" / "third_party" / "picoquic" / "picoquic"
    sources.mkdir(parents=True)
    (sources / "picoquic.h").write_text('#define PICOQUIC_VERSION "0.9"\n')
    run(["tar", "-czf", "source.tar.gz", "aiopquic-1"], cwd=tmp_path)
    monkeypatch.setattr(Picoquic, "_url", (tmp_path / "source.tar.gz").as_uri())
    with pytest.raises(FlightpathError, match=f"SHA-256 .* not {picoquic._sha256}"):
        picoquic.build(tmp_path / "first" / "home")
    monkeypatch.setattr(Picoquic, "_sha256", sha256((tmp_path / "source.tar.gz").read_bytes()).hexdigest())
    with pytest.raises(FlightpathError, match=f"holds picoquic 0.9, not {picoquic.version}"):
        picoquic.build(tmp_path / "second" / "home")
    monkeypatch.setattr(Picoquic, "_url", (tmp_path / "nosuch").as_uri())
    with pytest.raises(FlightpathError, match="nosuch"):
        picoquic.build(tmp_path / "third" / "home")


def test_what_the_build_of_picoquic_lacks_is_named_with_what_installs_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for lacking, added in (("cmake", ()), ("pkg-config", ("cmake", "cc", "c++", "make")), ("OpenSSL", ("pkg-config",))):
        for name in added:
            (tmp_path / name).symlink_to("/bin/false" if name == "pkg-config" else "/bin/true")
        with pytest.raises(MissingCapability, match=lacking) as refused:
            Picoquic().build(tmp_path / "home")
        assert "apt-get install cmake" in refused.value.hint


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_a_congestion_control_is_the_one_asked_for_or_an_error(name):
    implementation = IMPLEMENTATIONS[name]
    with pytest.raises(UsageError, match="no congestion control 'vegas'"):
        implementation.algorithm("vegas")
    _, reported = implementation.algorithm("cubic")
    found = Report(1, 1.0, 10, 0, (), (reported,), {})
    implementation.require_algorithm(found, "cubic")
    with pytest.raises(MeasurementFailed, match=f"{name} used {reported} instead of reno"):
        implementation.require_algorithm(found, "reno")


def test_a_client_is_told_each_path_and_its_report_is_that_of_the_sender(cargo):
    cargo()
    build()
    noq = IMPLEMENTATIONS["noq"]
    assert noq.client_command(REQUEST)[1:] == [
        *("download", "20000000", "/cell/certificate.pem", "cubic", "10.0.1.2:4433", "[fd00:2::2]:4433")
    ]
    found = noq.report(REQUEST, PRINTED)
    assert (found.bytes, found.sent_packets, found.lost_packets) == (20_000_000, 7601 + 7384, 2 * 422)
    assert (found.seconds, found.rtt_ms, found.algorithms) == (1.823177488, [49.24075, 49.235497], ["Cubic"])
    assert noq.report(replace(REQUEST, is_upload=True), PRINTED).sent_packets == 7212 + 6
    often = replace(REQUEST, pattern=RequestPattern(500, 40_000, 0.02))
    assert noq.client_command(often)[1:5] == ["requests", "500", "40000", "20000"]
    with pytest.raises(UsageError, match="aioquic has no multipath"):
        QuicServer(SimpleNamespace(name="h2"), Path("/cell"), IMPLEMENTATIONS["aioquic"], paths=2)
