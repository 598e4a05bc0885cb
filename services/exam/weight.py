"""The size of the examination's pages, and the texts that reach it."""

from typing import NamedTuple

PAGE_BYTES = 11_000
"""Default mean size of a response, with the headers of HTTP, TCP, IP and Ethernet."""

_PLAIN_BELOW_BYTES = 6_500
"""Size below which pages have no style sheet, navigation and rules, which alone are over 4 kB."""

_QUESTION_SHARE = 16 / 20
"""Fraction of a student's 20 requests that show a question: 8 list it, and 8 save an answer."""

_ON_WIRE = 1 + 66 / 1448
"""Bytes on the wire per byte of a page, with the headers of full segments."""

_WITHOUT_TEXT = {False: 5_910, True: 1_670}
"""Mean size of a response if questions have no text, in full and in plain pages."""

_MIN_TEXT_BYTES = 300
"""Minimum length of a question's text, in bytes."""


class Weight(NamedTuple):
    """The texts of pages.

    Attributes:
        question_bytes: mean length of a question's text.
        plain: whether pages lack style sheet, navigation and rules.
    """

    question_bytes: int
    plain: bool


def weight_of(page_bytes: int) -> Weight:
    """Returns the texts for pages of a mean size.

    Raises:
        ValueError: no pages are so small.
    """
    if page_bytes < least_page_bytes():
        raise ValueError(f"a page has at least {least_page_bytes()} bytes, not {page_bytes}")
    plain = page_bytes < _PLAIN_BELOW_BYTES
    return Weight(round((page_bytes - _WITHOUT_TEXT[plain]) / _QUESTION_SHARE / _ON_WIRE), plain)


def least_page_bytes() -> int:
    return round(_WITHOUT_TEXT[True] + _QUESTION_SHARE * _ON_WIRE * _MIN_TEXT_BYTES)
