"""A page as PDF: without it a paper's appendix would be made by hand, in a browser, differently each time."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from flightpath.errors import FlightpathError, MissingCapability, UsageError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_LIMIT_S = 180.0


def browser() -> str:
    """The path of a browser that prints without a screen.

    Raises:
        MissingCapability: there is none.
    """
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    raise MissingCapability(
        "a PDF is made by Chromium, which is not installed",
        "make browser-setup; or open the HTML report in any browser and print it into a file",
    )


def print_pdf(page: str, target: Path) -> None:
    """Prints an HTML page that needs no other file.

    Args:
        page: its text.
        target: the PDF file; replaced if there is one.

    Raises:
        MissingCapability: no browser is installed.
        FlightpathError: the browser failed, with what it said.
        UsageError: the target cannot be written.
    """
    program = browser()
    with tempfile.TemporaryDirectory(prefix="flightpath-pdf-") as folder:
        source, made = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8")
        said = _run(
            [
                program,
                "--headless",
                "--disable-gpu",
                "--no-first-run",
                # Root has no sandbox of Chromium's to be in; the page's own policy allows no script but ours.
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
                f"--user-data-dir={folder}/profile",
                "--no-pdf-header-footer",
                f"--print-to-pdf={made}",
                source.as_uri(),
            ]
        )
        if not made.is_file():
            raise FlightpathError(f"{program} printed nothing: {said[-500:].strip()}")
        try:
            shutil.copyfile(made, target)
        except OSError as error:
            raise UsageError(
                f"cannot write {target}: {error.strerror or error}", "choose another place: --output"
            ) from error


def _run(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise FlightpathError(f"{argv[0]} did not end within {_LIMIT_S:g} s") from error
    return done.stderr
