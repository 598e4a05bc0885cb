"""Calls of functions in guests: the function's program looks the same whatever else is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from execution.guests.calling import called
from execution.guests.process import ProcessGuest
from flightpath.project import PROJECT

FUNCTION = """
from pydantic import BaseModel

class Asked(BaseModel):
    number: int

def doubled(asked: Asked) -> int:
    return 2 * asked.number
"""
PLUGIN = """
from pathlib import Path

Path(__file__).with_name("loaded").touch()
new_schema_validator = lambda *_, **__: (None, None, None)
"""


@pytest.fixture
def installed(tmp_path, monkeypatch) -> Path:
    """A folder on Python's path, with a function to call and, like an installed package, a plugin of pydantic's."""
    (tmp_path / "asked.py").write_text(FUNCTION)
    (tmp_path / "plugged.py").write_text(PLUGIN)
    (tmp_path / "plugged-1.0.dist-info").mkdir()
    (tmp_path / "plugged-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (tmp_path / "plugged-1.0.dist-info" / "entry_points.txt").write_text("[pydantic]\nplugged = plugged\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_programs_of_a_guest_ask_no_installed_package_for_plugins(installed):
    from asked import Asked, doubled

    with called(ProcessGuest, doubled, Asked(number=21)) as call:
        assert call.wait(60) == 42
    assert not (installed / "loaded").exists()

    subprocess.run([sys.executable, "-c", "import asked"], cwd=PROJECT, check=True)
    assert (installed / "loaded").exists(), "the plugin is none, and the test would pass without reason"
