"""The virtual-time kernel's source and cache, without a build: which source is chosen, and what is refused."""

import io
import tarfile
from types import SimpleNamespace

import pytest

from execution.__main__ import main
from execution.uml import kernel
from execution.uml.kernel_source import SourcePackage, _newer_suites


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FLIGHTPATH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "uml"


def archive(path, **files: str):
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"linux-9.9/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def built(cache, version: str, fingerprint: str = ""):
    image = cache / f"{version}-{fingerprint or kernel._fingerprint()}" / "linux"
    image.parent.mkdir(parents=True)
    image.touch()
    image.with_name("System.map").touch()
    return image


def test_releases_are_compared_as_numbers():
    packages = [SourcePackage("a", "7.3.4-1~bpo13+1"), SourcePackage("b", "7.10-1"), SourcePackage("c", "6.12.90-1")]
    assert max(packages, key=lambda package: package.release).name == "b"
    assert packages[0].release == (7, 3, 4)


def test_newer_suites_are_the_backports_and_the_next_one():
    assert _newer_suites("bookworm") == ["bookworm-backports", "trixie", "trixie-backports"]
    assert _newer_suites("bookworm-updates") == _newer_suites("sid") == []


def test_the_newest_kernel_with_the_present_configuration_and_its_symbols_is_found(cache):
    built(cache, "7.3.4")
    newest = built(cache, "7.10.1")
    built(cache, "8.1", fingerprint="another")
    built(cache, "7.11").with_name("System.map").unlink()  # as before virtual time was watched
    found = kernel.find()
    assert (found.version, found.image) == ("7.10.1", newest)


def test_without_a_kernel_the_command_that_builds_one_is_named_and_on_another_processor_it_says_so(monkeypatch, capsys):
    assert main(["run", "--", "true"]) == 3
    said = capsys.readouterr().err
    assert "make uml-kernel" in said and "`flightpath virtual` now" in said
    monkeypatch.setattr(kernel.os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    assert main(["uml-kernel"]) == 3
    assert "x86-64" in capsys.readouterr().err


def test_the_version_is_that_of_the_source(tmp_path):
    text = "# SPDX\nVERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n"
    assert kernel._version_of(archive(tmp_path / "linux.tar.gz", Makefile=text)) == "7.3.4"


@pytest.mark.parametrize("content", [None, b"no archive", {"README": "x"}, {"Makefile": "all:\n"}])
def test_a_source_that_is_none_is_refused(tmp_path, capsys, cache, content):
    source = tmp_path / "linux.tar.gz"
    if isinstance(content, bytes):
        source.write_bytes(content)
    elif content is not None:
        archive(source, **content)
    assert main(["uml-kernel", "--source", str(source)]) == 2
    assert str(source) in capsys.readouterr().err
    assert not list(cache.glob("*/source"))
