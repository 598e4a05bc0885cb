"""Terminal output: escapes for untrusted text, and tables that are never cut off."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_WIDE, _UNLIMITED = 160, 10_000
_FRAME = 3
"""Characters between two columns: a line and a space on both sides of it."""


def visible(text: object, keep: str = "") -> str:
    """Escapes control characters and marks of text direction, except those in `keep`."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in str(text))


def plain(text: object, style: str = "", keep: str = "") -> Text:
    """Returns `visible` text for rich, in which brackets are not markup."""
    return Text(visible(text, keep), style=style)


def print_line(console: Console, text: Text) -> None:
    """Prints a line, which a terminal's width wraps between words; in files and pipes it stays one."""
    console.print(text, soft_wrap=not console.is_terminal)


def print_entries(console: Console, entries: Mapping[str, str]) -> None:
    """Prints a line for each name with its explanation, which wraps behind a hanging indent at a terminal."""
    column = max(map(len, entries), default=0) + 2
    for name, explanation in entries.items():
        line = f"{name:<{column}}{visible(explanation)}"
        if console.is_terminal:
            line = textwrap.fill(line, console.width, subsequent_indent=" " * column, break_on_hyphens=False)
        console.print(Text(line), soft_wrap=True)


def print_table(console: Console, table: Table) -> None:
    """Prints a table; in files and pipes at its full width.

    No word is split: where the columns are too narrow for theirs, each row becomes a paragraph.
    """
    console = _wide(console)
    widths = _widths(console, table)
    if sum(widths) + _FRAME * len(widths) + 1 > console.width:
        _print_paragraphs(console, table)
        return
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    console.print(table)


def _widths(console: Console, table: Table) -> list[int]:
    """Returns the widths of columns in which the table fits, if there are any without splitting a word."""
    unlimited = console.options.update(max_width=_UNLIMITED)
    sizes = [
        [console.measure(text, options=unlimited) for text in (column.header, *column.cells)]
        for column in table.columns
    ]
    least = [max(size.minimum for size in column) for column in sizes]
    widths = [max(size.maximum for size in column) for column in sizes]
    excess = sum(widths) + _FRAME * len(widths) + 1 - console.width
    while excess > 0 and widths != least:
        widest = max((i for i in range(len(widths)) if widths[i] > least[i]), key=lambda i: widths[i])
        widths[widest] -= 1
        excess -= 1
    return widths


def _print_paragraphs(console: Console, table: Table) -> None:
    """Prints each row as a paragraph: the first cell, and below it the others with their headings."""
    if table.title:
        console.print(table.title, style="italic")
    for first, *others in zip(*(column.cells for column in table.columns), strict=True):
        pairs = [
            Text.assemble(" ".join(str(column.header).split()), ": " if str(column.header) else "", cell)
            for column, cell in zip(table.columns[1:], others, strict=True)
            if cell
        ]
        console.print(first)
        console.print(Padding(Text(" · ").join(pairs), (0, 0, 0, 2)))
    if table.caption:
        console.print(table.caption, style="italic")


def tables_that_fit(
    console: Console, columns: Sequence[str], make: Callable[[Sequence[str]], Table]
) -> Iterator[Table]:
    """Splits a wide table into tables of a few columns that fit the terminal.

    Args:
        make: returns the table of some of the columns.
    """
    console = _wide(console)
    unlimited = console.options.update(max_width=_UNLIMITED)
    part: list[str] = []
    for column in columns:
        wider = make([*part, column])
        if part and console.measure(wider, options=unlimited).maximum > console.width:
            yield make(part)
            part = []
        part.append(column)
    yield make(part)


def _wide(console: Console) -> Console:
    return console if console.is_terminal else Console(file=console.file, width=max(console.width, _WIDE))
