"""The lists of Python packages that `make setup` installs: complete, of the versions that were tested, with hashes."""

import re
import shutil
import subprocess
from importlib.metadata import requires

from flightpath.project import PROJECT

LISTS = {"test": ("test", "cluster"), "vm": ("vm",), "browser": ("browser", "parquet"), "docs": ("docs",)}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(text: str) -> dict[str, str]:
    """The versions in a list of packages, by name."""
    return {normal(name): version for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE)}


def locked(*lists: str) -> dict[str, str]:
    """The versions in some of the lists together."""
    texts = ((PROJECT / "requirements" / f"{of}.txt").read_text() for of in lists)
    return {name: version for text in texts for name, version in pinned(text).items()}


def test_each_package_is_locked_in_the_version_that_was_tested():
    tested = pinned((PROJECT / "constraints.txt").read_text())
    assert len(tested) > 30
    assert {name: locked(*LISTS)[name] for name in tested} == tested


def test_each_package_that_is_asked_for_is_locked():
    """By what the installed project says: its requirements, and those of its extras."""
    for requirement in requires("flightpath"):
        name, extra = re.match(r"[\w.-]+", requirement)[0], re.search(r"extra == .(\w+)", requirement)
        of = next(of for of, extras in LISTS.items() if (extra[1] if extra else "test") in extras)
        assert normal(name) in locked(*{"test", of}), requirement


def test_nothing_is_installed_without_hashes():
    commands = re.findall(r"^\t@?(\$\(PIP\).*|.* pip install .*)$", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    unchecked = [command for command in commands if "--require-hashes" not in command]
    assert (len(commands), unchecked) == (5, ["$(PIP) --no-build-isolation -e ."])


def test_set_up_says_in_which_folders_setuptools_cannot_install(tmp_path):
    folder = tmp_path / "a $b"
    folder.mkdir()
    shutil.copy(PROJECT / "Makefile", folder)
    refused = subprocess.run(["make", "location"], cwd=folder, capture_output=True, text=True)
    assert refused.returncode == 2 and f"cannot install in {folder}" in refused.stderr
