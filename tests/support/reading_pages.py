"""Contents of a page in a browser, and of a drawn figure, as tests read them."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

WIDTHS = (360, 1600)
"""A phone's, and a screen's, in pixels."""


def column(page, table: str, number: int) -> list[str]:
    """The visible texts of a column."""
    return page.eval_on_selector_all(
        f"{table} tbody tr:not([hidden])", f"rows => rows.map(row => row.cells[{number}].textContent.trim())"
    )


def too_wide(page) -> int:
    """By how many pixels the page is wider than its window; what scrolls by itself does not count."""
    return page.evaluate("document.scrollingElement.scrollWidth - document.documentElement.clientWidth")


def words_of(svg: Path) -> str:
    texts = (node for node in ElementTree.parse(svg).iter() if node.tag.endswith("}text"))
    return " ".join("".join(node.itertext()).strip() for node in texts)
