"""`python3 -m …` works with any Python, and says what to do where nothing is set up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flightpath.project import PROJECT
from tests.support.finished import finished
from tests.support.ordinary_user import UID, dropped

SYSTEM_PYTHON = "/usr/bin/python3"
NOBODY = "http://127.0.0.1:1"


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    return finished([SYSTEM_PYTHON, "-m", *words], cwd=folder, env={**environment, **more})


@pytest.mark.parametrize(
    ("own", "code", "said"),
    [
        ({}, 1, f"no controller answers at {NOBODY}"),
        ({"VIRTUAL_ENV": "/nowhere"}, 3, "the Python package rich is not installed for"),
    ],
    ids=["the project's environment", "one of the user's own, which lacks a package"],
)
def test_controllers_show_continues_there_too_or_names_what_is_missing(own, code, said):
    if code == 1 and not (PROJECT / ".venv").exists():
        pytest.skip("the environment is not in the project's folder")
    if code == 3 and subprocess.run([SYSTEM_PYTHON, "-c", "import rich"], capture_output=True).returncode == 0:
        pytest.skip("Debian's Python has rich here")
    done = run(PROJECT, "controllers", "show", "--url", NOBODY, **own)
    assert done.returncode == code and done.stderr.startswith(f"controllers: {said}")
    assert "Traceback" not in done.stderr


@pytest.fixture
def bare(tmp_path) -> Path:
    """A checkout without an environment."""
    for package in ("flightpath", "scenarios"):
        shutil.copytree(PROJECT / package, tmp_path / package)
    (tmp_path / "Makefile").touch()  # what makes it a checkout
    return tmp_path


def test_without_an_environment_it_says_how_to_get_one(bare):
    refused = run(bare, "scenarios.mptcp_load", "--dry-run")
    assert refused.returncode == 3
    assert f"run `make setup` in {bare}" in refused.stderr


def test_importing_a_package_never_replaces_the_process(bare):
    (bare / "mine.py").write_text("import scenarios\nprint('still here')\n")
    assert run(bare, "mine").stdout == "still here\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize(("caller", "code"), [({}, 2), ({"SUDO_UID": str(UID)}, 0)])
def test_by_a_link_root_runs_only_its_own_code_and_that_of_sudo_s_caller(bare, caller, code):
    shutil.copytree(PROJECT / "scripts", bare / "scripts")
    bin_folder = bare.parent / f"{bare.name}-bin"
    (bare / ".venv/bin").mkdir(parents=True)
    (bare / ".venv/bin/flightpath").write_text("from flightpath.cli import main\nraise SystemExit(main())\n")
    bin_folder.mkdir()
    subprocess.run(["chown", "-R", f"{UID}:{UID}", bare], check=True)
    mounts = f'mount --bind {bin_folder} /usr/local/bin && exec "$@"'
    in_own_bin = ["unshare", "--mount", "sh", "-c", mounts, "sh"]
    environment = {**os.environ, "PYTHONPATH": str(bare), **caller}
    linked = finished([*in_own_bin, "sh", bare / "scripts/link-commands.sh"], env=environment)
    assert (f"owns {bare}" in linked.stderr, (bin_folder / "flightpath").is_symlink()) == (code == 2, code == 0)
    (bin_folder / "flightpath").unlink(missing_ok=True)
    (bin_folder / "flightpath").symlink_to(bare / ".venv/bin/flightpath")
    argv = [sys.executable, "/usr/local/bin/flightpath", "completion", "bash"]
    done = finished([*in_own_bin, *argv], env=environment)
    assert (done.returncode, f"chown -R root: {bare}" in done.stderr) == (code, code == 2), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("words", [["lab", "--help"], ["preflight", "history", "nowhere"], ["cluster", "key"]])
def test_a_user_whom_the_machine_does_not_know_needs_no_home(words):
    stranger = dropped(["env", "-i", f"PATH={os.environ['PATH']}"])
    done = finished([*stranger, Path(sys.executable).with_name("flightpath"), *words], cwd="/")
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr, done.stderr
