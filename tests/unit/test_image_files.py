"""The files for containers, editors, code reviews and packages name what exists."""

import re
import shlex
import shutil
from importlib.metadata import requires

import pytest

from experiments import catalogue
from flightpath import cli
from flightpath.project import PROJECT
from scenarios.command.options import request_from
from tests.support.finished import finished

yaml = pytest.importorskip("yaml")
DOCKERFILE = (PROJECT / "Dockerfile").read_text()
ACTION = yaml.safe_load((PROJECT / "action.yml").read_text())
TARGETS = set(re.findall(r"^([a-z_-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))


def test_the_dockerfile_copies_files_that_exist_and_makes_targets_that_exist():
    copied = " ".join(re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)).split()
    assert len(copied) > 8 and all((PROJECT / word).exists() for word in copied)
    made = re.findall(r"make ((?:[a-z]+-?)+(?: [a-z-]+)*)", re.sub(r"#.*", "", DOCKERFILE))
    targets = {word for words in made for word in words.split()} - {"git", "ca-certificates"}
    assert {"setup-real", "uml-kernel"} <= targets <= TARGETS


def test_the_commands_in_its_comments_exist():
    shown = re.findall(r"flightpath (run|mn) (\S+)", DOCKERFILE)
    assert {name for name, _ in shown} <= cli.COMMANDS.keys()
    assert all(catalogue.find(scenario) for name, scenario in shown if name == "run")


def test_the_action_runs_scripts_and_targets_that_exist():
    commands = "\n".join(step.get("run", "") for step in ACTION["runs"]["steps"])
    assert all((PROJECT / name).exists() for name in re.findall(r"scripts/\S+", commands))
    assert set(re.findall(r"make ([a-z-]+)", commands)) == {"setup"} <= TARGETS
    assert set(re.findall(r"inputs\.([a-z-]+)", (PROJECT / "action.yml").read_text())) <= ACTION["inputs"].keys()


def test_its_default_arguments_are_options_of_its_default_scenario():
    inputs = ACTION["inputs"]
    scenario = catalogue.find(inputs["scenario"]["default"])
    request = request_from(scenario, shlex.split(inputs["arguments"]["default"]))
    assert scenario.plan(request.plan).cells()


def test_programs_of_others_are_named_by_commit_with_their_version():
    """Tags can be moved, commits cannot."""
    for file in [PROJECT / "action.yml", *(PROJECT / ".github/workflows").glob("*.yml")]:
        used = [line.strip(" -") for line in file.read_text().splitlines() if "uses:" in line]
        pinned = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
        assert used and all(map(pinned.fullmatch, used)), file.name


LISTS = {"test": "test cluster s3", "vm": "vm", "browser": "browser parquet", "docs": "docs", "quic": "quic"}
"""The extras of the project in each list of locked packages."""

FILES = {"quic": "services/quic/aioquic.txt"}
"""Lists that are not in requirements/: `make quic` installs them elsewhere."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(text: str) -> dict[str, str]:
    """The versions in a list of packages, by name."""
    return {normal(name): version for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE)}


def locked(*lists: str) -> dict[str, str]:
    """The versions in some of the lists together."""
    texts = ((PROJECT / FILES.get(of, f"requirements/{of}.txt")).read_text() for of in lists)
    return {name: version for text in texts for name, version in pinned(text).items()}


def test_each_package_is_locked_in_the_version_that_was_tested():
    tested = pinned((PROJECT / "constraints.txt").read_text())
    assert len(tested) > 30
    assert {name: locked(*LISTS)[name] for name in tested} == tested


def test_each_package_that_is_asked_for_is_locked():
    """Packages by the installed project's metadata: its requirements, and those of its extras."""
    for requirement in requires("flightpath"):
        name, extra = re.match(r"[\w.-]+", requirement)[0], re.search(r"extra == .(\w+)", requirement)
        of = next(of for of, extras in LISTS.items() if (extra[1] if extra else "test") in extras.split())
        assert normal(name) in locked(*{"test", of}), requirement


def test_nothing_is_installed_without_hashes():
    commands = re.findall(r"^\t@?(\$\(PIP\).*|.* pip install .*)$", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    unchecked = [command for command in commands if "--require-hashes" not in command]
    assert (len(commands), unchecked) == (5, ["$(PIP) --no-build-isolation -e ."])


def test_set_up_says_in_which_folders_setuptools_cannot_install(tmp_path):
    folder = tmp_path / "a $b"
    folder.mkdir()
    shutil.copy(PROJECT / "Makefile", folder)
    refused = finished(["make", "location"], cwd=folder)
    assert refused.returncode == 2 and f"cannot install in {folder}" in refused.stderr
