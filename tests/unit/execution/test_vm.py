"""The VM runner, as far as it goes without a VM: which kernel, what is missing, and how a command gets in."""

import shlex
import subprocess
from pathlib import Path

import pytest

from execution.guests import guest
from execution.vm import kernels, virtual_machine
from flightpath.errors import MissingCapability


def unpack(folder: Path, version: str, modules: str = "lib/modules") -> None:
    root = folder / version
    (root / modules / version).mkdir(parents=True)
    (root / "boot").mkdir()
    (root / "boot" / f"vmlinuz-{version}").write_bytes(b"")


@pytest.fixture
def unpacked(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(kernels, "UNPACKED", tmp_path)
    return tmp_path


def test_a_kernel_is_found_by_its_version_wherever_its_package_puts_modules(unpacked):
    unpack(unpacked, "6.1.0-9-amd64")
    unpack(unpacked, "6.12.1-amd64", "usr/lib/modules")
    found = kernels.find("6.1.0-9-amd64")
    assert found.image == unpacked / "6.1.0-9-amd64/boot/vmlinuz-6.1.0-9-amd64"
    assert kernels.find("6.12.1-amd64").modules == unpacked / "6.12.1-amd64/usr/lib/modules/6.12.1-amd64"


def test_the_newest_is_taken_if_none_is_named(unpacked):
    for version in ("6.9.0-1-amd64", "6.12.0-1-amd64", "6.1.0-56-amd64"):
        unpack(unpacked, version)
    assert kernels.find().version == "6.12.0-1-amd64"


def test_without_a_kernel_it_says_how_to_get_one(unpacked):
    with pytest.raises(MissingCapability, match=r"no kernel '9.9'.*\n.*make vm-setup"):
        kernels.find("9.9")


def test_without_a_tool_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(virtual_machine, "_search_path", lambda: str(tmp_path))
    vm = virtual_machine.VirtualMachine(kernels.Kernel("6.1", tmp_path / "vmlinuz", tmp_path))
    with pytest.raises(MissingCapability, match=r"'virtme-run' is not installed\n.*make vm-setup"):
        vm.run(["true"], time_limit_s=1)


def test_a_command_gets_in_word_by_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["sh", "-c", 'echo "$1 $SLOW in $(pwd)" >&2; exit 7', "x", "it's  two"]
    done = subprocess.run(
        ["sh", "-c", guest._script(words, {"SLOW": "1"})], cwd="/", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (7, f"it's  two 1 in {tmp_path}\n"), shlex.join(words)
