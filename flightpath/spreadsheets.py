"""Texts in CSV files. Spreadsheets compute a field that begins like a formula, and formulas can send data away."""

from typing import TypeVar

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # also full-width

_Value = TypeVar("_Value")


def quoted(value: _Value) -> _Value | str:
    """Returns a text that begins like a formula with an apostrophe before it; other values as they are."""
    return f"'{value}" if isinstance(value, str) and value.startswith((*_FORMULA, "'")) else value


def unquoted(text: str) -> str:
    """Returns the text that `quoted` had."""
    return text.removeprefix("'")
