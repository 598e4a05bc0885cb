"""A real browser for the tests of pages."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flightpath.errors import FlightpathError
from flightpath.project import PROJECT
from results.__main__ import main
from results.exchange.export import import_runs
from results.exchange.files import read_export
from results.pages.browser import browser as browser_path
from results.store.store import Store


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    """The browser; tests that need it are skipped by name where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: make browser-setup")
    try:
        path = browser_path()
    except FlightpathError:
        path = None
    with api.sync_playwright() as playwright:
        try:
            flags = ["--no-sandbox"] if os.geteuid() == 0 else []
            started = playwright.chromium.launch(executable_path=path, args=flags)
        except api.Error as error:
            pytest.skip(f"needs Chromium: make browser-setup ({str(error).splitlines()[0]})")
        yield started
        started.close()


@pytest.fixture
def opened(chromium) -> Iterator[Callable]:
    """Opens a page, in a window of a width; whatever it says on its console, or fails to load, fails the test."""
    complaints: list[str] = []
    contexts = []

    def failed(request) -> None:
        if request.failure != "net::ERR_ABORTED":  # whoever leaves a page does not wait for the rest of it
            complaints.append(f"failed: {request.url}: {request.failure}")

    def opened_page(address: str, width: int = 1600, **options):
        context = chromium.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("requestfailed", failed)
        page.goto(address)
        return page

    yield opened_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def accessible() -> Callable:
    """Checks a page with axe-core: labels, contrast, names of controls, order of headings."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe: make browser-setup").Axe()

    def check(page) -> None:
        found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []

    return check


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """The report of a stored real run."""
    store = Store.open(tmp_path_factory.mktemp("report") / "runs")
    import_runs(store, [read_export(PROJECT / "tests" / "data" / "mptcp_load_run.csv.zip")])
    target = store.folder / "report.html"
    assert main(["report", "latest", "--results", str(store.folder), "--output", str(target)]) == 0
    return target
