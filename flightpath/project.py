"""The folder of this checkout, in which `native/`, `build/` and `.venv` lie."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
