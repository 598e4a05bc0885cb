"""Kernels of guests, without a build or a VM: which are chosen, and what is refused."""

import io
import shutil
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from execution.__main__ import main
from execution.uml import kernel, kernel_source
from execution.uml.kernel_source import SourcePackage
from execution.vm import kernels, virtual_machine
from flightpath import commands
from flightpath.errors import MissingCapability


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


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("suite", kernel_source._NEWER)
def test_debian_s_mirrors_have_each_suite_in_which_newer_kernels_are_looked_for(suite, tmp_path, monkeypatch):
    """One that is missing, as the backports of a suite that is not released, makes apt refuse all of them."""
    if not Path("/usr/share/keyrings/debian-archive-keyring.gpg").exists():
        pytest.skip("needs Debian's keys")

    def run(words, **options):
        target = f"http://deb.debian.org/debian {suite} main Debian\n"
        return target if "indextargets" in words else commands.run(words, **options)

    monkeypatch.setattr(kernel_source, "run", run)
    assert kernel_source.PrivateApt(tmp_path).newest_source().release >= kernel_source.OLDEST


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


def test_schedulers_become_part_of_the_source_and_a_change_of_one_makes_another_kernel(tmp_path, monkeypatch):
    schedulers, changes, tree = tmp_path / "schedulers", tmp_path / "kernel.patch", tmp_path / "tree"
    shutil.copytree(kernel.SCHEDULERS, schedulers)
    monkeypatch.setattr(kernel, "SCHEDULERS", schedulers)
    monkeypatch.setattr(kernel, "CHANGES", changes)
    changes.write_text("--- a/net/mptcp/Makefile\n+++ b/net/mptcp/Makefile\n@@ -1 +1 @@\n-a.o\n+a.o schedulers.o\n")
    kernel._unpack(archive(tmp_path / "linux.tar.gz", **{"net/mptcp/Makefile": "a.o\n"}), tree)
    assert (tree / "net/mptcp/Makefile").read_text() == "a.o schedulers.o\n"
    for name in ("schedulers.c", "schedulers.h", "redundant.c"):
        assert (tree / "net/mptcp" / name).read_bytes() == (schedulers / name).read_bytes()
    before = kernel._fingerprint()
    (schedulers / "README.md").write_text("no part of the kernel")
    assert kernel._fingerprint() == before
    with (schedulers / "redundant.c").open("a") as file:
        file.write("/* changed */\n")
    assert kernel._fingerprint() != before


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


def unpack(folder: Path, version: str, modules: str = "lib/modules") -> None:
    root = folder / version
    (root / modules / version).mkdir(parents=True)
    (root / "boot").mkdir()
    (root / "boot" / f"vmlinuz-{version}").write_bytes(b"")


def test_a_kernel_is_found_wherever_its_package_puts_modules_by_version_or_as_the_newest(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "UNPACKED", tmp_path)
    for version in ("6.9.0-1-amd64", "6.1.0-56-amd64"):
        unpack(tmp_path, version)
    unpack(tmp_path, "6.12.1-amd64", "usr/lib/modules")
    assert kernels.find("6.9.0-1-amd64").image == tmp_path / "6.9.0-1-amd64/boot/vmlinuz-6.9.0-1-amd64"
    assert kernels.find().modules == tmp_path / "6.12.1-amd64/usr/lib/modules/6.12.1-amd64"
    with pytest.raises(MissingCapability, match=r"no kernel '9.9'.*\n.*make vm-setup"):
        kernels.find("9.9")


def test_without_a_tool_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(virtual_machine, "_search_path", lambda: str(tmp_path))
    vm = virtual_machine.VirtualMachine(kernels.Kernel("6.1", tmp_path / "vmlinuz", tmp_path))
    with pytest.raises(MissingCapability, match=r"'virtme-run' is not installed\n.*make vm-setup"):
        vm.run(["true"], time_limit_s=1)
