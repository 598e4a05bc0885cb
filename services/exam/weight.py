"""How heavy a page of the examination is: what a request moves to the student, and the texts that make it so."""

from typing import NamedTuple

PAGE_BYTES = 11_000
"""What a request moves to the student on average, with the headers of HTTP, TCP, IP and Ethernet."""

_PLAIN_BELOW_BYTES = 6_500
"""Lighter pages have no style sheet, navigation and rules, which alone are over 4 kB."""

_SHARE = 16 / 20
"""Of a student's 20 requests these show a question: 8 when it is asked for, 8 when an answer is saved."""

_ON_WIRE = 1 + 66 / 1448
"""What a byte of a page is on the wire, with its part of the headers of full segments."""

_WITHOUT_TEXT = {False: 5_910, True: 1_670}
"""What a request moves on average if questions have no text, in full and in plain pages."""

_SHORTEST_TEXT = 300
"""Of a question: what it asks."""


class Weight(NamedTuple):
    """The texts of pages.

    Attributes:
        question_bytes: of a question's text, on average.
        plain: without style sheet, navigation and rules.
    """

    question_bytes: int
    plain: bool


def weight_of(page_bytes: int) -> Weight:
    """The texts of pages that weigh so much; a ValueError says that none are so light."""
    if page_bytes < least_page_bytes():
        raise ValueError(f"a page has at least {least_page_bytes()} bytes, not {page_bytes}")
    plain = page_bytes < _PLAIN_BELOW_BYTES
    return Weight(round((page_bytes - _WITHOUT_TEXT[plain]) / _SHARE / _ON_WIRE), plain)


def least_page_bytes() -> int:
    """The lightest page that there is."""
    return round(_WITHOUT_TEXT[True] + _SHARE * _ON_WIRE * _SHORTEST_TEXT)
