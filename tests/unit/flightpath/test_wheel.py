"""A wheel, installed in an environment of its own and used outside of the checkout. No network is needed for it."""

import os
import shutil
import site
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from flightpath.project import PROJECT
from tests.support.finished import finished

PACKAGES = sorted(path.parent.name for path in PROJECT.glob("*/__init__.py"))
NOT_SHIPPED = ("__pycache__", "build", "runs", "solutions")
pytestmark = pytest.mark.together  # they share the wheel


def files_of(folder: Path) -> set[str]:
    paths = (path.relative_to(folder) for name in PACKAGES for path in (folder / name).rglob("*") if path.is_file())
    return {str(path) for path in paths}


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    """A copy of the checkout, because building leaves files in it; with files that must not be shipped."""
    copy = tmp_path_factory.mktemp("sources")
    for package in PACKAGES:
        measured = ("reproduction",) if package == "results" else ()
        shutil.copytree(PROJECT / package, copy / package, ignore=shutil.ignore_patterns(*NOT_SHIPPED, *measured))
    for name in ("setup.py", "pyproject.toml", "Makefile", "LICENSE", "README.md"):
        shutil.copy(PROJECT / name, copy)
    return copy


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory) -> Path:
    shipped = files_of(sources)
    for unwanted in (
        "native/build/relay",
        "results/runs/store.sqlite",
        "results/reproduction/store.sqlite",
        "labs/solutions/attempt.py",
        "flightpath/__pycache__/units.cpython-311.pyc",
    ):
        (sources / unwanted).parent.mkdir()
        (sources / unwanted).touch()
    target = tmp_path_factory.mktemp("wheel")
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *offline, "-w", target, sources], check=True)
    (made,) = target.glob("*.whl")
    with zipfile.ZipFile(made) as content:
        packed = {name for name in content.namelist() if ".dist-info/" not in name}
    assert packed == shipped
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program of an environment that has the wheel, and the libraries of this one."""
    environment, elsewhere = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("elsewhere")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    with zipfile.ZipFile(wheel) as content:
        (scripts,) = (name for name in content.namelist() if name.endswith("entry_points.txt"))
        assert "flightpath = flightpath.cli:main" in content.read(scripts).decode()
        assert "preflight = probes.preflight.__main__:main" in content.read(scripts).decode()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--quiet", wheel], check=True)
    (packages,) = environment.glob("lib/*/site-packages")
    libraries = [folder for folder in (*site.getsitepackages(), *sys.path) if folder.endswith("-packages")]
    (packages / "shared.pth").write_text("".join(f"{folder}\n" for folder in libraries))  # not their own .pth files
    variables = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    variables |= {"HOME": str(elsewhere), "XDG_CACHE_HOME": ""}

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return finished([environment / "bin" / program, *arguments], cwd=elsewhere, env=variables)

    return run


def test_scenarios_are_listed_and_planned(installed):
    listed = installed("python", "-m", "scenarios")
    assert "mptcp_load " in listed.stdout, listed.stderr
    planned = installed("python", "-m", "scenarios.mptcp_load", "--dry-run")
    assert "cells, about" in planned.stdout, planned.stderr


def test_it_runs_from_where_it_is_installed_and_finds_its_data_files(installed):
    code = (
        "import flightpath.project as it; print(it.PROJECT, it.IS_CHECKOUT);"
        "from services.exam.pages import Pages; Pages(8);"
        "from services.exam.service import _SCHEMA; _SCHEMA.read_text();"
        "from congestion.sources import shipped; print(len(shipped()));"
        "from results.store.store import Store; Store.open('runs')"
    )
    done = installed("python", "-c", code)
    assert done.returncode == 0, done.stderr
    project, is_checkout, algorithms = done.stdout.split()
    assert project.endswith("site-packages")
    assert (is_checkout, algorithms) == ("False", "9")


MISSING = {
    "import native; native.binary('relay')": "make -C ",
    "from probes.jmeter.probe import require_jmeter; require_jmeter()": "python -m probes.jmeter.install",
    "from flightpath.commands import require; require('nosuch')": "flightpath doctor",
}


def test_what_a_wheel_does_not_have_is_a_sentence_with_the_command_that_gets_it(installed):
    calls = f"from flightpath.command_line import exit_code_of\nfor call in {list(MISSING)}:\n"
    done = installed("python", "-c", f"{calls}    assert exit_code_of(lambda: exec(call)) == 3")
    errors = [part for part in done.stderr.split("error: ") if part]
    assert done.returncode == 0 and len(errors) == len(MISSING), done.stderr
    assert all(said in error for said, error in zip(MISSING.values(), errors, strict=True)), errors
    assert "make setup" not in done.stderr


def test_without_mininet_a_scenario_says_so(wheel, tmp_path):
    """With nothing but the wheel: a scenario's module could not even be loaded."""
    with zipfile.ZipFile(wheel) as content:
        content.extractall(tmp_path)
    done = finished([sys.executable, "-S", "-m", "scenarios.mptcp_load", "--help"], cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.startswith("error: Mininet is not installed for ")
