"""Charts of a report as a reader explores them: by pointer and by keyboard, to the cells of a value, in the dark."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.support.reading_pages import WIDTHS, too_wide

RUN_TIME = "chart-fig5_run_time"
# Where the last value of a line in a chart's first plot is in the window, and the value.
_PLACE = """([id, label]) => {
  const plot = charts.drawn.get(id).plots[0], trace = plot.traces.find((each) => each.label === label);
  const u = plot.drawn, i = trace.x.length - 1;
  u.over.scrollIntoView({ block: "center" });
  const box = u.over.getBoundingClientRect();
  return [box.left + u.valToPos(trace.x[i], "x"), box.top + u.valToPos(trace.y[i], "y"), trace.y[i]];
}"""
_PAINTED = """() => [...charts.drawn.values()].flatMap((chart) => chart.plots).map((plot) => {
  const { canvas } = plot.drawn.ctx, pixels = plot.drawn.ctx.getImageData(0, 0, canvas.width, canvas.height).data;
  return new Set(new Uint32Array(pixels.buffer)).size;
})"""


def _range(page) -> list[float]:
    return page.evaluate(f"charts.drawn.get('{RUN_TIME}').plots[0].across")


@pytest.mark.parametrize("width", WIDTHS)
def test_all_are_drawn_in_the_dark_too_and_accessible(report, opened, accessible, width):
    page = opened(report.as_uri(), width, color_scheme="dark")
    page.locator("#cells-over-time .explored").wait_for()
    for plot in page.locator(".plot:visible").all():  # each is drawn when one comes to it
        plot.scroll_into_view_if_needed()
        plot.locator(".u-over").wait_for()
    painted = page.evaluate(_PAINTED)
    assert len(painted) > 15 and min(painted) > 10, painted
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 27)"
    assert not page.locator(".charted > .figure").first.is_visible()
    assert too_wide(page) <= 0
    accessible(page)


def test_a_value_under_the_pointer_is_told_and_a_click_leads_to_its_cells(report, opened):
    page = opened(report.as_uri())
    page.locator(f"#{RUN_TIME} .plot").scroll_into_view_if_needed()
    page.locator(f"#{RUN_TIME} .u-over").wait_for()
    page.locator(f"#{RUN_TIME} .legend").get_by_role("button", name="TCP", exact=True).click()  # the same values
    x, y, value = page.evaluate(_PLACE, [RUN_TIME, "MPTCP"])
    page.mouse.move(x + 3, y - 2)
    assert f"MPTCP {value:.4g}" in page.locator(f"#{RUN_TIME} .tip .mine").inner_text()
    page.mouse.click(x, y)
    page.wait_for_selector("tr.chosen")
    chosen = page.locator("tr.chosen")
    of = chosen.evaluate_all("rows => rows.map(row => row.dataset.of)")
    assert {each.split('"')[1] for each in of} == {"protocol=mptcp"}
    assert "#of:protocol%3Dmptcp" in page.url and chosen.first.evaluate("row => row === document.activeElement")


def test_dragging_zooms_all_plots_and_a_double_click_shows_all_again(report, opened):
    page = opened(report.as_uri())
    page.locator("#cells-over-time .explored").wait_for()
    page.locator("#cells-over-time .plot").last.scroll_into_view_if_needed()
    plot = page.locator("#cells-over-time .u-over").first
    plot.scroll_into_view_if_needed()
    ranges = "charts.drawn.get('cells-over-time').plots.map(({ drawn }) => [drawn.scales.x.min, drawn.scales.x.max])"
    whole, box = page.evaluate(ranges), plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30, steps=5)
    page.mouse.up()
    (low, high), *others = page.evaluate(ranges)
    length = whole[0][1] - whole[0][0]
    assert (low - whole[0][0], high - low) == pytest.approx((length / 4, length / 4), rel=0.05)
    assert all(each == [low, high] for each in others) and others
    page.locator("#cells-over-time .tools input").first.fill(str(low + length / 8))
    page.keyboard.press("Enter")
    assert page.evaluate(ranges)[0][0] == pytest.approx(low + length / 8)
    plot.dblclick()
    assert page.evaluate(ranges) == whole


def test_two_cells_are_laid_over_each_other(report, opened):
    page = opened(report.as_uri())
    page.locator("#cells-over-time .explored").wait_for()
    page.get_by_label("beside").select_option(index=3)
    names = page.locator("#cells-over-time .legend button").all_inner_texts()
    assert len(names) == 2 and names[0] != names[1]
    shown = "plot.traces.filter((each) => plot.isShown(each)).length"
    traces = f"charts.drawn.get('cells-over-time').plots.map((plot) => {shown})"
    assert set(page.evaluate(traces)) == {2}
    page.locator("#cells-over-time .legend button").last.click()
    assert set(page.evaluate(traces)) == {1}


def test_the_keyboard_goes_from_value_to_value_zooms_and_follows(report, opened):
    page = opened(report.as_uri())
    page.locator(f"#{RUN_TIME} .plot").focus()
    whole = _range(page)
    page.keyboard.press("ArrowRight")
    said = page.locator(f"#{RUN_TIME} [role=status]")
    first = said.inner_text()
    assert first.startswith(("TCP, ", "MPTCP, ")) and " s, faithful" in first
    page.keyboard.press("ArrowDown")
    assert said.inner_text().partition(",")[0] != first.partition(",")[0]
    page.keyboard.press("+")
    assert _range(page)[1] - _range(page)[0] < whole[1] - whole[0]
    assert page.locator(f"#{RUN_TIME}").get_by_role("button", name="whole range").is_visible()
    page.keyboard.press("Home")
    assert _range(page) == whole
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("tr.chosen")


def test_print_and_download_have_the_figure_for_papers(report, opened):
    page = opened(report.as_uri())
    with page.expect_download() as started:
        page.locator(f"#{RUN_TIME}").get_by_role("button", name="SVG for papers").click()
    text = Path(started.value.path()).read_text()
    assert started.value.suggested_filename == "fig5_run_time.svg"
    assert "Total run time" in "".join(ElementTree.fromstring(text).itertext())
    page.emulate_media(media="print")
    assert page.locator(f"#{RUN_TIME} .figure svg").is_visible()
    assert not page.locator(f"#{RUN_TIME} .explored").is_visible()
