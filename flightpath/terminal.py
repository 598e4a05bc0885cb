"""Terminal output: escapes for untrusted text, and tables that are never cut off."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDE, _UNLIMITED = 160, 10_000


def visible(text: object, keep: str = "") -> str:
    """Escapes control characters and marks of text direction, except those in `keep`."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in str(text))


def plain(text: object, style: str = "", keep: str = "") -> Text:
    """Returns `visible` text for rich, in which brackets are no markup."""
    return Text(visible(text, keep), style=style)


def print_table(console: Console, table: Table) -> None:
    """Prints a table; in files and pipes at its full width."""
    _wide(console).print(table)


def tables_that_fit(
    console: Console, columns: Sequence[str], make: Callable[[Sequence[str]], Table]
) -> Iterator[Table]:
    """Splits a wide table into tables of a few columns that fit the terminal.

    Args:
        console: the terminal.
        columns: names of all columns.
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
