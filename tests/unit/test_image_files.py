"""The files for containers, editors and code reviews name what exists."""

import re
import shlex

import pytest

from experiments import catalogue
from flightpath import cli
from flightpath.project import PROJECT
from scenarios.command.options import request_from

yaml = pytest.importorskip("yaml")
DOCKERFILE = (PROJECT / "Dockerfile").read_text()
TARGETS = set(re.findall(r"^([a-z_-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))


def action() -> dict:
    return yaml.safe_load((PROJECT / "action.yml").read_text())


def test_the_dockerfile_copies_files_that_exist_and_makes_targets_that_exist():
    copied = [
        word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE) for word in line.split()
    ]
    assert len(copied) > 8 and all((PROJECT / word).exists() for word in copied)
    made = re.findall(r"make ((?:[a-z]+-?)+(?: [a-z-]+)*)", re.sub(r"#.*", "", DOCKERFILE))
    targets = {word for words in made for word in words.split()} - {"git", "ca-certificates"}
    assert {"setup-real", "uml-kernel"} <= targets <= TARGETS


def test_the_commands_in_its_comments_exist():
    shown = re.findall(r"flightpath (run|mn) (\S+)", DOCKERFILE)
    assert {name for name, _ in shown} <= cli.COMMANDS.keys()
    assert all(catalogue.find(scenario) for name, scenario in shown if name == "run")


def test_the_action_runs_scripts_and_targets_that_exist():
    commands = "\n".join(step.get("run", "") for step in action()["runs"]["steps"])
    assert all((PROJECT / name).exists() for name in re.findall(r"scripts/\S+", commands))
    assert set(re.findall(r"make ([a-z-]+)", commands)) == {"setup"} <= TARGETS
    for name in re.findall(r"inputs\.([a-z-]+)", (PROJECT / "action.yml").read_text()):
        assert name in action()["inputs"]


def test_its_default_arguments_are_options_of_its_default_scenario():
    inputs = action()["inputs"]
    scenario = catalogue.find(inputs["scenario"]["default"])
    request = request_from(scenario, shlex.split(inputs["arguments"]["default"]))
    assert scenario.plan(request.plan).cells()


def test_programs_of_others_are_named_by_commit_with_their_version():
    """Tags can be moved, commits cannot."""
    for file in [PROJECT / "action.yml", *(PROJECT / ".github/workflows").glob("*.yml")]:
        used = [line.strip(" -") for line in file.read_text().splitlines() if "uses:" in line]
        pinned = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
        assert used and all(map(pinned.fullmatch, used)), file.name
