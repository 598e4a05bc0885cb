"""Output on a terminal: text from outside is escaped, and tables in files and pipes are not cut off."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDE = 160


def visible(text: object, keep: str = "") -> str:
    """A text without effects on a terminal: control characters, and marks that reverse its direction, as escapes.

    Those in `keep` stay as they are.
    """
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in str(text))


def plain(text: object, style: str = "", keep: str = "") -> Text:
    """`visible` text for rich, in which brackets are no markup."""
    return Text(visible(text, keep), style=style)


def print_table(console: Console, table: Table) -> None:
    """Prints a table, in a file or pipe at its full width."""
    if not console.is_terminal:
        console = Console(file=console.file, width=max(console.width, _WIDE))
    console.print(table)
