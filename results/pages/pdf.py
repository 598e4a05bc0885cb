"""Printing of HTML pages as PDF, with headless Chromium."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from flightpath.errors import FlightpathError
from results.pages.browser import browser, sandbox_options
from results.store.ownership import writing_to

_LIMIT_S = 180.0


def print_pdf(page: str, target: Path) -> None:
    """Prints an HTML page that needs no other file, and replaces the target."""
    program = browser()
    with tempfile.TemporaryDirectory(prefix="flightpath-pdf-") as folder:
        source, printed = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8")
        argv = [program, "--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
        argv += [*sandbox_options(), f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}", source.as_uri()]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise FlightpathError(f"{program} timed out after {_LIMIT_S:g} s") from error
        if not printed.is_file():
            raise FlightpathError(f"{program} printed nothing: {done.stderr[-500:].strip()}")
        with writing_to(target):
            shutil.copyfile(printed, target)
