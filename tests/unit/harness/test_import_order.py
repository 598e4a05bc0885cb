"""`make lint` refuses an import that points up, from one floor to a higher one or inside a floor."""

import configparser
import os
import re
import shutil
import sys
from pathlib import Path

from flightpath.project import PROJECT
from tests.support.finished import finished

NO_SOURCES = shutil.ignore_patterns("__pycache__", "build", "runs")
LINT = Path(sys.executable).with_name("lint-imports")
UPWARDS = {
    ("flightpath/units.py", "topologies.sandbox.sandbox", "The floors"),
    ("flightpath/errors.py", "flightpath.commands", "flightpath: the ground floor"),
    ("topologies/hosts/nodes.py", "topologies.testbed.testbed", "topologies"),
    ("topologies/web_service.py", "results.records", "topologies: no network imports results or services"),
}


def test_just_the_imports_that_point_up_are_refused_and_named(tmp_path):
    contracts = configparser.ConfigParser()
    contracts.read(PROJECT / ".importlinter")
    for package in contracts["importlinter"]["root_packages"].split():
        shutil.copytree(PROJECT / package, tmp_path / package, ignore=NO_SOURCES)
    shutil.copy(PROJECT / ".importlinter", tmp_path)
    for module, imported, _ in UPWARDS:
        with (tmp_path / module).open("a") as file:
            file.write(f"\nimport {imported}\n")

    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    done = finished([LINT, "--no-cache", "--no-logo"], cwd=tmp_path, env=environment)

    assert done.returncode == 1, done.stdout
    assert set(re.findall(r"^(.*) BROKEN", done.stdout, re.MULTILINE)) == {contract for _, _, contract in UPWARDS}
    found = set(re.findall(r"^-\s+(\S+) -> (\S+)", done.stdout, re.MULTILINE))
    assert found == {(module.removesuffix(".py").replace("/", "."), imported) for module, imported, _ in UPWARDS}
