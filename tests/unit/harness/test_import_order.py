"""`make lint` refuses an import that points up, from one floor to a higher one or inside a floor."""

import configparser
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flightpath.project import PROJECT

NO_SOURCES = shutil.ignore_patterns("__pycache__", "build", "runs")
LINT = Path(sys.executable).with_name("lint-imports")


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The packages that the contracts are about, and the contracts."""
    folder = tmp_path_factory.mktemp("packages")
    contracts = configparser.ConfigParser()
    contracts.read(PROJECT / ".importlinter")
    for package in contracts["importlinter"]["root_packages"].split():
        shutil.copytree(PROJECT / package, folder / package, ignore=NO_SOURCES)
    shutil.copy(PROJECT / ".importlinter", folder)
    return folder


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    argv = [LINT, "--no-cache", "--no-logo"]
    return subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_order_is_kept(copy):
    done = lint(copy)
    assert done.returncode == 0, done.stdout
    assert " 0 broken." in done.stdout


@pytest.mark.parametrize(
    ("module", "imported", "contract"),
    [
        ("flightpath/units.py", "topologies.sandbox.sandbox", "The floors"),
        ("flightpath/errors.py", "flightpath.commands", "flightpath: the ground floor"),
        ("topologies/hosts/nodes.py", "topologies.testbed.testbed", "topologies"),
        ("topologies/web_service.py", "results.records", "topologies: no network imports results or services"),
    ],
)
def test_an_import_that_points_up_is_refused_and_named(copy, module, imported, contract):
    path = copy / module
    source = path.read_text()
    path.write_text(f"{source}\nimport {imported}\n")
    try:
        done = lint(copy)
    finally:
        path.write_text(source)

    assert done.returncode == 1
    assert f"{contract} BROKEN" in done.stdout
    importer = module.removesuffix(".py").replace("/", ".")
    assert f"{importer} -> {imported}" in done.stdout
