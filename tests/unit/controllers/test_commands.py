"""`python3 -m controllers` as it is typed, with a Python that has none of the project's packages."""

import os
import subprocess
from pathlib import Path

import pytest

from flightpath.project import PROJECT

BARE = Path("/usr/bin/python3")
NOBODY = "http://127.0.0.1:1"


def show(**environment: str) -> subprocess.CompletedProcess[str]:
    """`show` with Debian's own Python, which in a test must not find the packages of this one."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    return subprocess.run(
        [str(BARE), "-m", "controllers", "show", "--url", NOBODY],
        cwd=PROJECT,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.skipif(not (PROJECT / ".venv/bin/python").exists(), reason="needs the project's environment")
def test_show_continues_with_the_projects_python():
    done = show()

    assert "Traceback" not in done.stderr
    assert done.stderr.startswith(f"controllers: no controller answers at {NOBODY}")
    assert done.returncode == 1


def test_in_an_environment_of_the_users_own_it_says_which_package_is_missing(tmp_path):
    if subprocess.run([str(BARE), "-c", "import rich"], capture_output=True).returncode == 0:
        pytest.skip("Debian's Python has rich here")

    done = show(VIRTUAL_ENV=str(tmp_path))

    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("controllers: the Python package rich is not installed for")
    assert done.returncode == 3
