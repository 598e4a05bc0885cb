"""The page of a matrix of sites: its paths have charts, drawn as one comes to them, however many they are."""

from pathlib import Path

import pytest

from results.pages.matrix_page import MatrixCell, MatrixPath, matrix_page
from results.records import Series
from tests.support.reading_pages import WIDTHS, too_wide

DAY_S, SITES = 86400.0, 12
_DRAWN = "() => [...charts.drawn.values()].filter((chart) => chart.plots[0].drawn).length"


@pytest.fixture(scope="module")
def matrix(tmp_path_factory) -> Path:
    """Returns a page with the histories of 132 paths: of 94 Mbit/s for two days, and then of 40."""
    sites = [f"dtn{number}" for number in range(SITES)]
    pairs = [(a, b) for a in sites for b in sites if a != b]
    goodput = Series("bit/s", (0.0, DAY_S, 4 * DAY_S), (94e6, 94e6, 40e6))
    notes = ["1970-01-01 00:00, faithful", "1970-01-02 00:00, faithful", "1970-01-05 00:00, degraded"]
    rows = [("1970-01-05 00:00", "40 Mbit/s", "degraded", "run")]
    paths = [MatrixPath(f"{a}-{b}", f"{a} to {b}", "slower", "", goodput, notes, rows) for a, b in pairs]
    cells = {(a, b): MatrixCell("worse", "40 Mbit/s", f"{a} to {b}: slower", f"{a}-{b}") for a, b in pairs}
    file = tmp_path_factory.mktemp("matrix") / "matrix.html"
    legend = {"worse": ("-", "worse than usual")}
    file.write_text(matrix_page("Goodput", "132 paths", sites, sites, cells, legend, paths), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", WIDTHS)
def test_a_cell_leads_to_the_chart_of_its_path_which_is_drawn_only_then(matrix, opened, accessible, width):
    page = opened(matrix.as_uri(), width, color_scheme="dark")
    page.locator(".u-over").first.wait_for()
    assert 0 < page.evaluate(_DRAWN) < 50
    last = page.locator("#chart-dtn11-dtn10")
    assert last.locator(".u-over").count() == 0
    page.locator("table.matrix a").last.click()
    last.locator(".u-over").wait_for()
    last.locator(".plot").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert last.locator("[role=status]").inner_text() == "goodput, -3 days: 94 Mbit/s, 1970-01-02 00:00, faithful"
    assert too_wide(page) <= 0
    accessible(page)
