"""The report as a reader sees it: sorted, filtered, by keyboard, on a phone, in print, and without JavaScript."""

import re
from pathlib import Path

import pytest

from results.pages.browser import print_pdf
from tests.support.reading_pages import WIDTHS, column, too_wide


@pytest.mark.parametrize("width", WIDTHS)
def test_it_renders_whole_at_any_width(report, opened, accessible, width):
    page = opened(report.as_uri(), width)
    assert too_wide(page) <= 0
    assert page.locator("figure svg[role=img]").count() >= 6
    for part in ("claims", "results", "figures", "network", "cells", "certificate", "run"):
        assert page.locator(f"#{part} h2").is_visible()
    accessible(page)


def test_every_part_of_a_figure_is_inside_of_it(report, opened):
    """The words of the verdict had been wider than their box once."""
    page = opened(report.as_uri())
    page.emulate_media(media="print")
    outside = page.evaluate(
        """() => [...document.querySelectorAll('.figure svg text')].filter(text => {
            const box = text.getBoundingClientRect(), all = text.closest('svg').getBoundingClientRect();
            return box.width && (box.right > all.right + 1 || box.left < all.left - 1);
        }).map(text => text.textContent.trim())"""
    )
    assert outside == []


def test_a_click_sorts_by_size_and_another_the_other_way(report, opened):
    page = opened(report.as_uri())
    headings = page.locator("#cells thead th").all_inner_texts()
    number = next(index for index, text in enumerate(headings) if text.startswith("idle cpu"))
    head = page.locator("#cells thead th").nth(number)
    values = [float(text) for text in column(page, "#cells table", number)]
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(text) for text in column(page, "#cells table", number)] == sorted(values) != values
    head.get_by_role("button").click()
    assert [float(text) for text in column(page, "#cells table", number)] == sorted(values, reverse=True)
    page.locator("#cells thead th").first.get_by_role("button").click()
    assert head.get_attribute("aria-sort") is None
    assert column(page, "#cells table", 0) == ["mptcp", "mptcp", "tcp", "tcp"]


def test_filters_leave_what_they_say_and_count_it(report, opened):
    page = opened(report.as_uri())
    cells = page.locator("#cells")
    assert cells.locator("output").inner_text() == "4 of 4"
    cells.get_by_label("protocol").select_option("tcp")
    assert column(page, "#cells table", 0) == ["tcp", "tcp"] and cells.locator("output").inner_text() == "2 of 4"
    cells.get_by_label("protocol").select_option("")
    cells.get_by_label("containing").fill("MPTCP")
    assert column(page, "#cells table", 0) == ["mptcp", "mptcp"]


def test_the_keyboard_reaches_everything(report, opened):
    page = opened(report.as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the results"
    page.keyboard.press("Enter")
    head = page.locator("#cells thead th").nth(2)
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    page.locator("#cells .toggle-extra").focus()
    hidden = page.locator("#cells th.extra").first
    assert not hidden.is_visible()
    page.keyboard.press("Space")
    assert hidden.is_visible()


def test_without_javascript_it_has_all_the_same_numbers(report, opened):
    plain, scripted = opened(report.as_uri(), java_script_enabled=False), opened(report.as_uri())
    rows = "#cells tbody td"
    assert plain.locator(rows).all_text_contents() == scripted.locator(rows).all_text_contents()
    plain.locator("#cells .toggle-extra").check()
    assert plain.locator("#cells th.extra").first.is_visible()
    assert plain.locator("#cells th button").count() == plain.locator(".filters").count() == 0


def test_in_print_nothing_is_cut_off_at_the_side(report, opened):
    page = opened(report.as_uri(), 720)  # what A4 has between its margins, at 96 dots an inch
    page.emulate_media(media="print")
    assert too_wide(page) <= 0
    assert not page.locator("nav").first.is_visible() and not page.locator(".filters").first.is_visible()
    assert page.locator("#cells tbody tr").first.is_visible()


def test_a_pdf_of_it_has_pages_and_its_text(report, chromium, tmp_path):
    target = tmp_path / "report.pdf"
    print_pdf(report.read_text(), target)
    content = target.read_bytes()
    assert content.startswith(b"%PDF-") and content.rstrip().endswith(b"%%EOF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 12
    assert not list(Path("/tmp").glob("flightpath-browser-*"))
